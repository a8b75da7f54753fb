/** The editable form of a cohort: read from the stored cohort or from an address, and written back into the API's filters. */
import type { ShownCohort } from '../../api/types/shown-cohort.ts'
import { withType } from '../flags/flag-draft.ts'
import { propertyText } from '../flags/release-text.ts'
import { doneText } from './behavior.ts'

export type DraftedCohort = {
  readonly name: string
  readonly description: string
  /** A list of persons who are added by hand, in place of conditions. */
  readonly is_static: boolean
  /** A person who meets all conditions of any set is in the cohort; null for filters of another form, which stay as they are. */
  readonly sets: readonly CohortSet[] | null
}

export type CohortSet = readonly unknown[]

type CohortMembers = Readonly<Record<string, unknown>>

export const NEW_COHORT: DraftedCohort = {
  name: '',
  description: '',
  is_static: false,
  sets: [[]],
}

/** The draft of a stored cohort. */
export function draftOf({ name, description, is_static, filters }: ShownCohort): DraftedCohort {
  return { name: name ?? '', description, is_static, sets: setsOf(filters?.['properties']) }
}

/** Sets of conditions from a tree: an OR of ANDs, or one AND. */
function setsOf(tree: unknown): readonly CohortSet[] | null {
  const { type, values } = membersOf(tree)
  if (!Array.isArray(values)) return tree === undefined || isEmpty(tree) ? [] : null
  const nodes: readonly unknown[] = values
  if (nodes.every((node) => !isBranch(node))) {
    const leaves = nodes.map((node) => conditionOf(node))
    return type === 'AND' || nodes.length === 1 ? [leaves] : leaves.map((leaf) => [leaf])
  }
  if (type === 'AND' && nodes.length > 1) return null
  const sets = nodes.map((node) => setOf(node))
  return sets.every((set) => set !== null) ? sets : null
}

function setOf(node: unknown): CohortSet | null {
  const { type, values } = membersOf(node)
  if (!Array.isArray(values)) return [conditionOf(node)]
  const leaves: readonly unknown[] = values
  return (type === 'AND' || leaves.length < 2) && leaves.every((leaf) => !isBranch(leaf))
    ? leaves.map((leaf) => conditionOf(leaf))
    : null
}

const conditionOf = (leaf: unknown): unknown =>
  membersOf(leaf)['type'] === 'behavioral' ? leaf : withType(leaf, null)

const isBranch = (node: unknown): boolean => Array.isArray(membersOf(node)['values'])
const isEmpty = (tree: unknown): boolean => Object.keys(membersOf(tree)).length === 0

/** The conditions in words; '' for a fixed list. */
export function draftText({ is_static, sets }: DraftedCohort): string {
  if (is_static || sets === null) return ''
  const texts = sets.map((set) => set.map((condition) => conditionText(condition)).join(' and '))
  return texts.join(', or ')
}

/** A condition in words: on events, or on a property, which the API can negate. */
export function conditionText(condition: unknown): string {
  const text = doneText(condition) ?? propertyText(condition)
  return isNegated(condition) ? `Not: ${text}` : text
}

/** Whether it is on a property and holds where its operator does not: the filter editor has no such conditions. */
export function isNegated(condition: unknown): boolean {
  const { type, negation } = membersOf(condition)
  return type !== 'behavioral' && negation === true
}

/** A draft as an address has it; null for anything else. */
export function readDraft(value: unknown): DraftedCohort | null {
  const { name, description, is_static, sets } = membersOf(value)
  if (typeof name !== 'string') return null
  return {
    name,
    description: typeof description === 'string' ? description : '',
    is_static: is_static === true,
    sets: Array.isArray(sets) ? sets.filter((set) => Array.isArray(set)) : null,
  }
}

/** The body that stores a draft. */
export function bodyOf({ name, description, is_static, sets }: DraftedCohort): object {
  if (is_static) return { name, description, is_static }
  if (sets === null) return { name, description }
  const values = sets.map((set) => ({ type: 'AND', values: set }))
  return { name, description, filters: { properties: { type: 'OR', values } } }
}

function membersOf(value: unknown): CohortMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as CohortMembers)
    : {}
}
