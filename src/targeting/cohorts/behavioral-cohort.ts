/**
 * Membership in behavioral cohorts: conditions on events become sets of persons, other conditions are evaluated
 * like flags'.
 */

import type { CompiledFlags } from '../../flags/definition.ts'
import { matchesFilter } from '../../flags/match.ts'
import { asText } from '../../flags/operators/value.ts'
import type { Subject } from '../../flags/subject.ts'
import { isObject } from '../../json.ts'
import { compileInSlices } from '../flags/compile-in-slices.ts'
import { PEOPLE_PER_PAGE, readBehavior } from './behavior.ts'

/** Runs a HogQL query over a project's events; `properties` are filters for `{filters}`. */
export type QueryEvents = (
  project_id: number,
  query: string,
  values: Readonly<Record<string, unknown>>,
  properties?: readonly unknown[],
) => Promise<readonly (readonly unknown[])[]>

/** A membership test; its subjects must be opened with `definitions`. */
export type BehavioralMembership = {
  readonly definitions: CompiledFlags
  readonly isIn: (subject: Subject, person_id: Uint8Array) => boolean
}

type BehavioralNode =
  | { readonly kind: 'all' | 'any'; readonly nodes: readonly BehavioralNode[] }
  | { readonly kind: 'did'; readonly persons: ReadonlySet<string>; readonly is_negated: boolean }
  | { readonly kind: 'is'; readonly cohort_id: number }

type BehaviorReader = {
  readonly project_id: number
  readonly queryEvents: QueryEvents
  /** Conditions that are not about events: each becomes a temporary cohort with a negative id. */
  readonly leaves: unknown[]
}

/**
 * Runs all event queries of the filters and returns the membership test. Throws UnknownBehavior, and what
 * queries throw.
 */
export async function openMembership(
  definitions: CompiledFlags,
  cohort: { readonly project_id: number; readonly filters: unknown },
  queryEvents: QueryEvents,
): Promise<BehavioralMembership> {
  const reader: BehaviorReader = { project_id: cohort.project_id, queryEvents, leaves: [] }
  const root = isObject(cohort.filters) ? cohort.filters['properties'] : null
  const tree = await readNode(root, reader)
  const { stored } = definitions
  const leaf_cohorts = reader.leaves.map((leaf, index) => ({
    id: -1 - index,
    is_static: false,
    deleted: false,
    filters: { properties: { type: 'AND', values: [leaf] } },
  }))
  return {
    definitions: await compileInSlices(
      { ...stored, cohorts: [...stored.cohorts, ...leaf_cohorts] },
      null,
    ),
    isIn: (subject, person_id) => holds(tree, subject, person_id.toHex()),
  }
}

async function readNode(raw: unknown, reader: BehaviorReader): Promise<BehavioralNode> {
  if (!isObject(raw)) return { kind: 'any', nodes: [] }
  const values = raw['values']
  if (Array.isArray(values)) {
    const nodes: BehavioralNode[] = []
    for (const value of values) nodes.push(await readNode(value, reader))
    return { kind: asText(raw['type'] ?? 'AND').toUpperCase() === 'OR' ? 'any' : 'all', nodes }
  }
  if (raw['type'] === 'behavioral') {
    const persons = await findPeople(raw, reader)
    return { kind: 'did', persons, is_negated: raw['negation'] === true }
  }
  reader.leaves.push(raw)
  return { kind: 'is', cohort_id: -reader.leaves.length }
}

async function findPeople(
  leaf: Readonly<Record<string, unknown>>,
  { project_id, queryEvents }: BehaviorReader,
): Promise<ReadonlySet<string>> {
  const { query, values, properties } = readBehavior(leaf)
  const persons = new Set<string>()
  let after = ''
  for (;;) {
    const rows = await queryEvents(project_id, query, { ...values, after }, properties)
    for (const [person] of rows) {
      after = asText(person)
      persons.add(after.replaceAll('-', ''))
    }
    if (rows.length < PEOPLE_PER_PAGE) return persons
  }
}

function holds(node: BehavioralNode, subject: Subject, person_id: string): boolean {
  switch (node.kind) {
    case 'all':
      return node.nodes.every((part) => holds(part, subject, person_id))
    case 'any':
      return node.nodes.some((part) => holds(part, subject, person_id))
    case 'did':
      return node.persons.has(person_id) !== node.is_negated
    case 'is':
      return matchesFilter(
        { kind: 'cohort', cohort_id: node.cohort_id, is_negated: false },
        subject,
      )
  }
}
