/** A flag's filters and a cohort's tree in the words that clients understand. */
import type { CohortNode } from './cohort.ts'
import type { CompiledFlags } from './definition.ts'
import type { StoredFlag } from './definition-types.ts'
import type { CohortFilter, CompiledFilter, PropertyFilter } from './filter.ts'
import { filterReasons } from './local-reasons.ts'
import { type FlagPlan, setsOf } from './plan.ts'
import { isRecord } from './value.ts'

type RawFilter = Readonly<Record<string, unknown>>

export type ClientContext = {
  readonly definitions: CompiledFlags
  readonly send_cohorts: boolean
  /** The keys of a flag's dependencies, then its own. */
  readonly chainOf: (flag_index: number) => readonly string[]
}

/** Filters that no client can decide: each of them asks the server. */
export function serverOnlyFilters(flag: StoredFlag): RawFilter {
  const filters = isRecord(flag.filters) ? flag.filters : {}
  const property = { key: '$server', type: 'person', operator: 'server_only', value: 'true' }
  return {
    groups: [{ properties: [property], rollout_percentage: 100, variant: null }],
    multivariate: filters['multivariate'] ?? null,
    payloads: filters['payloads'] ?? {},
    aggregation_group_type_index: null,
  }
}

/** A flag's filters with old shapes brought up to date, references resolved and early access written out. */
export function clientFilters(flag: StoredFlag, plan: FlagPlan, context: ClientContext): RawFilter {
  const filters = isRecord(flag.filters) ? flag.filters : {}
  const sets = setsOf(filters).flatMap((raw, index) => {
    const compiled = plan.sets[index]
    return isRecord(raw) && compiled ? clientSets(raw, compiled.filters, context) : []
  })
  const { super_groups: _super_groups, holdout_groups: _holdout_groups, ...rest } = filters
  const { feature_enrollment: _feature_enrollment, ...kept } = rest
  return {
    ...kept,
    groups: plan.super_set ? withEarlyAccess(plan, sets) : sets,
    multivariate: filters['multivariate'] ?? null,
    payloads: filters['payloads'] ?? {},
    aggregation_group_type_index: plan.aggregation,
    holdout: clientHoldout(plan),
  }
}

/** Clients name the variant after the number; other names are doubts, and do not come here. */
function clientHoldout({ holdout }: FlagPlan): RawFilter | null {
  if (!holdout) return null
  const id = Number(holdout.result.variant?.replace(/^holdout-/, ''))
  return { id, exclusion_percentage: holdout.percentage }
}

/** One set as the sets that say the same; more than one only where a cohort of alternatives is written out. */
function clientSets(
  raw: RawFilter,
  filters: readonly CompiledFilter[],
  context: ClientContext,
): RawFilter[] {
  const parts = Array.isArray(raw['properties']) ? raw['properties'] : []
  const properties = filters.map((filter, index) => clientProperty(parts[index], filter, context))
  const cohorts = filters.filter((filter) => filter.kind === 'cohort')
  const only = cohorts.length === 1 && !context.send_cohorts ? cohorts[0] : undefined
  const alternatives = only ? expandCohort(only, context.definitions) : null
  if (!only || !alternatives) return [{ ...raw, properties }]
  const others = properties.filter((_property, index) => filters[index] !== only)
  return alternatives.map((leaves) => ({ ...raw, properties: [...others, ...leaves] }))
}

function clientProperty(raw: unknown, filter: CompiledFilter, context: ClientContext): unknown {
  switch (filter.kind) {
    case 'property': {
      const { source, key, operator } = filter
      const value = clientValue(filter)
      if (source === 'person') return { key, type: 'person', operator, value }
      return { key, type: 'group', group_type_index: source, operator, value }
    }
    case 'cohort':
      return clientCohortProperty(filter)
    case 'flag': {
      const dependency_chain = context.chainOf(filter.flag_index)
      const key = context.definitions.flags[filter.flag_index]?.flag.key
      const operator = 'flag_evaluates_to'
      return { key, type: 'flag', operator, value: filter.expected, dependency_chain }
    }
    case 'broken':
      return raw
  }
}

/** Clients will not say that 5 is the text 5; to us it is. */
function clientValue({ operator, value }: PropertyFilter): unknown {
  if (operator !== 'exact' && operator !== 'is_not') return value
  if (Array.isArray(value))
    return value.map((item) => (typeof item === 'number' ? String(item) : item))
  return typeof value === 'number' ? String(value) : value
}

function clientCohortProperty({ cohort_id, is_negated }: CohortFilter): RawFilter {
  return { key: 'id', type: 'cohort', value: cohort_id, operator: is_negated ? 'not_in' : 'in' }
}

/** Early access decides where the person says something about it, the other sets where they say nothing. */
function withEarlyAccess(
  { super_set }: FlagPlan,
  sets: readonly RawFilter[],
): readonly RawFilter[] {
  if (!super_set) return sets
  const properties = super_set.filters.flatMap((filter) =>
    filter.kind === 'property'
      ? { key: filter.key, type: 'person', operator: filter.operator, value: clientValue(filter) }
      : [],
  )
  const first = { properties, rollout_percentage: super_set.percentage, variant: null }
  if (super_set.keys.length === 0) return [first]
  const silent = super_set.keys.map((key) => ({
    key,
    type: 'person',
    operator: 'is_not_set',
    value: 'is_not_set',
  }))
  const others = sets.map((set) => {
    const own = Array.isArray(set['properties']) ? set['properties'] : []
    return { ...set, properties: [...own, ...silent] }
  })
  return [first, ...others]
}

/** A cohort as alternatives of property lists; null when it is not that simple. */
function expandCohort(filter: CohortFilter, definitions: CompiledFlags): RawFilter[][] | null {
  const cohort = definitions.cohorts.get(filter.cohort_id)
  if (filter.is_negated || cohort?.kind !== 'tree') return null
  return expandNode(cohort.root)
}

/** More alternatives than this are not worth writing out. */
const ALTERNATIVES_MAX = 20

function expandNode(node: CohortNode): RawFilter[][] | null {
  if (node.kind === 'leaf') {
    const leaf = node.filter.kind === 'property' && !node.is_negated ? clientLeaf(node) : null
    return leaf && [[leaf]]
  }
  let alternatives: RawFilter[][] = node.kind === 'any' ? [] : [[]]
  for (const child of node.nodes) {
    const own = expandNode(child)
    if (!own) return null
    alternatives =
      node.kind === 'any'
        ? [...alternatives, ...own]
        : alternatives.flatMap((one) => own.map((other) => [...one, ...other]))
    if (alternatives.length > ALTERNATIVES_MAX) return null
  }
  return alternatives.length > 0 ? alternatives : null
}

/** A cohort's tree for clients, who want groups of groups or groups of leaves, but not both in one; null if unsayable. */
export function clientCohort(node: CohortNode): RawFilter | null {
  if (node.kind === 'leaf') {
    const leaf = clientLeaf(node)
    return leaf && { type: 'AND', values: [leaf] }
  }
  const is_flat = node.nodes.every((child) => child.kind === 'leaf')
  const values: RawFilter[] = []
  for (const child of node.nodes) {
    const value = child.kind === 'leaf' && is_flat ? clientLeaf(child) : clientCohort(child)
    if (!value) return null
    values.push(value)
  }
  return { type: node.kind === 'any' ? 'OR' : 'AND', values }
}

function clientLeaf({ filter, is_negated }: CohortNode & { kind: 'leaf' }): RawFilter | null {
  if (filter.kind === 'cohort') return clientCohortProperty(filter)
  if (filter.kind !== 'property' || filterReasons(filter).length > 0) return null
  const { key, operator } = filter
  const value = clientValue(filter)
  return { key, type: 'person', operator, value, negation: is_negated }
}
