/** Cohorts in flag filters: stored lists of persons, or trees of filters that are evaluated at once. */

import { isObject } from '../json.ts'
import type { StoredCohort } from './definition-types.ts'
import { orderByDependency } from './dependency.ts'
import { type FailureCode, FlagFailure } from './failure.ts'
import {
  type CompiledFilter,
  compileCohortFilter,
  compilePropertyFilter,
  SharedFilters,
} from './filter.ts'
import { asText } from './operators/value.ts'

export type CohortNode =
  | { readonly kind: 'all' | 'any'; readonly nodes: readonly CohortNode[] }
  | { readonly kind: 'leaf'; readonly filter: CompiledFilter; readonly is_negated: boolean }

export type CompiledCohort =
  /** A stored list of persons: uploaded, or computed in the background from their events. */
  | { readonly kind: 'members'; readonly list_kind: 'behavioral' | 'static' }
  /** `refers_to`: ids of other cohorts in the tree. */
  | { readonly kind: 'tree'; readonly root: CohortNode; readonly refers_to: readonly number[] }
  | { readonly kind: 'broken'; readonly code: FailureCode }

export type Cohorts = ReadonlyMap<number, CompiledCohort>

/** Nesting of groups within one cohort. */
const TREE_DEPTH_MAX = 32
/** Conditions and groups of one cohort. */
const NODES_MAX = 5000
/** Length of a chain of cohorts that refer to cohorts. */
const CHAIN_LENGTH_MAX = 32

/**
 * Compiles a project's cohorts, as a generator that yields after each, so that the caller can pause. Deleted ones are
 * left out; cohorts in cycles and too long chains become `broken`.
 */
export function* compileCohortsInSteps(
  stored: readonly StoredCohort[],
  shared: SharedFilters,
): Generator<undefined, Cohorts> {
  const present = stored.filter((cohort) => !cohort.deleted)
  const positions = new Map(present.map((cohort, position) => [cohort.id, position]))
  const compiled: CompiledCohort[] = []
  for (const cohort of present) {
    compiled.push(compileCohort(cohort, shared))
    yield
  }
  const references = compiled.map((cohort) =>
    cohort.kind === 'tree' ? cohort.refers_to.flatMap((id) => positions.get(id) ?? []) : [],
  )
  const { order, depth } = orderByDependency(references)
  const cohorts = compiled.map((cohort, position) => limitDepth(cohort, depth[position] ?? 0))
  // Dependencies come first, so a fault reaches every cohort that refers to it, directly or not.
  for (const position of order) {
    const fault = references[position]?.map((other) => cohorts[other]).find(isBroken)
    if (fault) cohorts[position] = fault
  }
  return new Map(
    present.flatMap(({ id }, position) => {
      const cohort = cohorts[position]
      return cohort ? [[id, cohort] as const] : []
    }),
  )
}

/**
 * Compiles one cohort among a project's compiled ones, without compiling those again. It is `broken` where it refers to
 * itself, to a broken cohort, or to too long a chain. `instructions`: those of the project's other patterns.
 */
export function compileAmong(
  cohorts: Cohorts,
  draft: StoredCohort,
  instructions: number,
): CompiledCohort {
  const own = compileCohort(draft, new SharedFilters(instructions))
  if (own.kind !== 'tree') return own
  const lengths = new Map<number, FailureCode | number>()
  const lengthOf = (id: number): FailureCode | number => {
    const cached = lengths.get(id)
    if (cached !== undefined) return cached
    const length = id === draft.id ? 'cohort_cycle' : lengthBelow(cohorts.get(id), lengthOf)
    lengths.set(id, length)
    return length
  }
  const length = lengthBelow(own, lengthOf)
  if (typeof length !== 'number') return { kind: 'broken', code: length }
  return length < CHAIN_LENGTH_MAX ? own : { kind: 'broken', code: 'cohort_too_deep' }
}

/** The longest chain of references from a cohort, or the fault of one of them. Compiled cohorts have short chains. */
function lengthBelow(
  cohort: CompiledCohort | undefined,
  lengthOf: (id: number) => FailureCode | number,
): FailureCode | number {
  if (cohort?.kind === 'broken') return cohort.code
  let length = 0
  for (const id of cohort?.kind === 'tree' ? cohort.refers_to : []) {
    const below = lengthOf(id)
    if (typeof below !== 'number') return below
    length = Math.max(length, below + 1)
  }
  return length
}

function isBroken(cohort: CompiledCohort | undefined): boolean {
  return cohort?.kind === 'broken'
}

/** A cohort in a cycle, or with too long a chain below it, becomes broken. */
function limitDepth(cohort: CompiledCohort, depth: number): CompiledCohort {
  if (cohort.kind !== 'tree') return cohort
  if (depth < 0) return { kind: 'broken', code: 'cohort_cycle' }
  return depth < CHAIN_LENGTH_MAX ? cohort : { kind: 'broken', code: 'cohort_too_deep' }
}

function compileCohort(cohort: StoredCohort, shared: SharedFilters): CompiledCohort {
  if (cohort.is_static) return { kind: 'members', list_kind: 'static' }
  try {
    const root = compileNode(rootOf(cohort.filters), 0, { shared, nodes: 0 })
    if (!root) return { kind: 'members', list_kind: 'behavioral' }
    return { kind: 'tree', root, refers_to: [...new Set(cohortIdsIn(root))] }
  } catch (error) {
    if (error instanceof FlagFailure) return { kind: 'broken', code: error.code }
    throw error
  }
}

function rootOf(filters: unknown): unknown {
  if (!isObject(filters)) throw new FlagFailure('invalid_definition', 'A cohort needs filters.')
  const root = filters['properties'] ?? filters
  // A cohort without filters has no members.
  return isObject(root) && Object.keys(root).length === 0 ? { type: 'OR', values: [] } : root
}

/** The compilation of one tree; `nodes` counts its nodes so far. */
type TreeCompilation = { readonly shared: SharedFilters; nodes: number }

/** Null if the tree has a behavioral filter: such cohorts are stored lists. */
function compileNode(raw: unknown, level: number, tree: TreeCompilation): CohortNode | null {
  tree.nodes += 1
  if (tree.nodes > NODES_MAX) throw new FlagFailure('cohort_too_large')
  if (level > TREE_DEPTH_MAX) throw new FlagFailure('cohort_too_deep')
  if (!isObject(raw)) throw new FlagFailure('invalid_definition', 'A cohort filter is an object.')
  const values = raw['values']
  if (!Array.isArray(values)) return compileLeaf(raw, tree.shared)
  const type = asText(raw['type'] ?? 'AND').toUpperCase()
  if (type !== 'AND' && type !== 'OR' && type !== 'PROPERTY') {
    throw new FlagFailure('invalid_definition', `Cohort groups are AND or OR, not ${type}.`)
  }
  const nodes: CohortNode[] = []
  for (const value of values) {
    const node = compileNode(value, level + 1, tree)
    if (!node) return null
    nodes.push(node)
  }
  return { kind: type === 'OR' ? 'any' : 'all', nodes }
}

function compileLeaf(
  raw: Readonly<Record<string, unknown>>,
  shared: SharedFilters,
): CohortNode | null {
  if (raw['type'] === 'behavioral') return null
  if (raw['type'] === 'cohort' || raw['type'] === 'precalculated-cohort') {
    return { kind: 'leaf', filter: compileCohortFilter(raw), is_negated: false }
  }
  const filter = compilePropertyFilter(raw, 'person', shared)
  return { kind: 'leaf', filter, is_negated: raw['negation'] === true }
}

/** Ids of the other cohorts in a tree. */
function cohortIdsIn(node: CohortNode): number[] {
  if (node.kind !== 'leaf') return node.nodes.flatMap(cohortIdsIn)
  return node.filter.kind === 'cohort' ? [node.filter.cohort_id] : []
}
