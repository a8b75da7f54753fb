/** Cohorts as flags see them: lists of people kept elsewhere, or trees of filters judged on the spot. */

import type { StoredCohort } from './definition-types.ts'
import { orderByDependency } from './dependency.ts'
import { type FailureCode, FlagFailure } from './failure.ts'
import {
  type CompiledFilter,
  compileCohortFilter,
  compilePropertyFilter,
  type SharedFilters,
} from './filter.ts'
import { asText, isRecord } from './value.ts'

export type CohortNode =
  | { readonly kind: 'all' | 'any'; readonly nodes: readonly CohortNode[] }
  | { readonly kind: 'leaf'; readonly filter: CompiledFilter; readonly is_negated: boolean }

export type CompiledCohort =
  /** A list of people: uploaded, or worked out in the background from what they did. */
  | { readonly kind: 'members'; readonly why: 'behavioral' | 'static' }
  /** `asks`: the ids of the other cohorts that appear in the tree. */
  | { readonly kind: 'tree'; readonly root: CohortNode; readonly asks: readonly number[] }
  | { readonly kind: 'broken'; readonly code: FailureCode }

export type Cohorts = ReadonlyMap<number, CompiledCohort>

/** How deep groups may stand in groups within one cohort. */
const TREE_DEPTH_MAX = 32
/** How many conditions and groups one cohort may have. */
const NODES_MAX = 5000
/** How long a chain of cohorts that refer to cohorts may be. */
const CHAIN_LENGTH_MAX = 32

/** Compiles a project's cohorts. Deleted ones are left out; cycles and over-long chains come out broken. */
export function compileCohorts(stored: readonly StoredCohort[], shared: SharedFilters): Cohorts {
  const steps = compileCohortsInSteps(stored, shared)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** The same, with a pause offered after each cohort. */
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
  const asked = compiled.map((cohort) =>
    cohort.kind === 'tree' ? cohort.asks.flatMap((id) => positions.get(id) ?? []) : [],
  )
  const { order, depth } = orderByDependency(asked)
  const checked = compiled.map((cohort, position) => inDepth(cohort, depth[position] ?? 0))
  // Dependencies come first, so a fault spreads to all who ask, directly or not.
  for (const position of order) {
    const fault = asked[position]?.map((other) => checked[other]).find(isBroken)
    if (fault) checked[position] = fault
  }
  return new Map(present.flatMap(({ id }, position) => entryOf(id, checked[position])))
}

function entryOf(id: number, cohort: CompiledCohort | undefined): [number, CompiledCohort][] {
  return cohort ? [[id, cohort]] : []
}

function isBroken(cohort: CompiledCohort | undefined): boolean {
  return cohort?.kind === 'broken'
}

function inDepth(cohort: CompiledCohort, depth: number): CompiledCohort {
  if (cohort.kind !== 'tree') return cohort
  if (depth < 0) return { kind: 'broken', code: 'cohort_cycle' }
  return depth < CHAIN_LENGTH_MAX ? cohort : { kind: 'broken', code: 'cohort_too_deep' }
}

function compileCohort(cohort: StoredCohort, shared: SharedFilters): CompiledCohort {
  if (cohort.is_static) return { kind: 'members', why: 'static' }
  try {
    const root = compileNode(rootOf(cohort.filters), 0, { shared, nodes: 0 })
    if (!root) return { kind: 'members', why: 'behavioral' }
    return { kind: 'tree', root, asks: [...new Set(cohortIdsIn(root))] }
  } catch (error) {
    if (error instanceof FlagFailure) return { kind: 'broken', code: error.code }
    throw error
  }
}

function rootOf(filters: unknown): unknown {
  if (!isRecord(filters)) throw new FlagFailure('invalid_definition', 'A cohort needs filters.')
  const root = filters['properties'] ?? filters
  // A cohort without any filter is nobody, not everybody.
  return isRecord(root) && Object.keys(root).length === 0 ? { type: 'OR', values: [] } : root
}

/** A tree that is being compiled: how many nodes it has so far. */
type Tree = { readonly shared: SharedFilters; nodes: number }

/** Null when somewhere in the tree is something a person did: such cohorts are lists. */
function compileNode(raw: unknown, level: number, tree: Tree): CohortNode | null {
  tree.nodes += 1
  if (tree.nodes > NODES_MAX) throw new FlagFailure('cohort_too_large')
  if (level > TREE_DEPTH_MAX) throw new FlagFailure('cohort_too_deep')
  if (!isRecord(raw)) throw new FlagFailure('invalid_definition', 'A cohort filter is an object.')
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

/** The other cohorts a tree asks about. */
function cohortIdsIn(node: CohortNode): number[] {
  if (node.kind !== 'leaf') return node.nodes.flatMap(cohortIdsIn)
  return node.filter.kind === 'cohort' ? [node.filter.cohort_id] : []
}
