/** Converts a flag's filters and a cohort's tree to what SDKs evaluate locally. */
import { isObject } from '../../json.ts'
import type { CohortNode } from '../cohort.ts'
import type { CompiledFlags } from '../definition.ts'
import type { StoredFlag } from '../definition-types.ts'
import type { CohortFilter, CompiledFilter, PropertyFilter } from '../filter.ts'
import { type FlagPlan, setsOf } from '../plan.ts'
import { filterReasons } from './local-reasons.ts'

type RawFilter = Readonly<Record<string, unknown>>

type ClientContext = {
  readonly definitions: CompiledFlags
  readonly send_cohorts: boolean
  /** The keys of a flag's dependencies, then the flag's key. */
  readonly chainOf: (flag_index: number) => readonly string[]
}

/** A filter with an operator that SDKs do not know: they ask the server about the flag. */
export function serverOnlyFilters(flag: StoredFlag): RawFilter {
  const filters = isObject(flag.filters) ? flag.filters : {}
  const property = { key: '$server', type: 'person', operator: 'server_only', value: 'true' }
  return {
    groups: [{ properties: [property], rollout_percentage: 100, variant: null }],
    multivariate: clientMultivariate(filters),
    payloads: filters['payloads'] ?? {},
    aggregation_group_type_index: null,
  }
}

/** A flag's filters in the current form: references resolved, early access as condition sets. */
export function clientFilters(flag: StoredFlag, plan: FlagPlan, context: ClientContext): RawFilter {
  const filters = isObject(flag.filters) ? flag.filters : {}
  const sets = setsOf(filters).flatMap((raw, index) => {
    const compiled = plan.sets[index]
    return isObject(raw) && compiled ? clientSets(raw, compiled.filters, context) : []
  })
  const { super_groups: _super_groups, holdout_groups: _holdout_groups, ...rest } = filters
  const { feature_enrollment: _feature_enrollment, early_exit: _early_exit, ...common } = rest
  return {
    ...common,
    ...(plan.is_early_exit ? { early_exit: true } : {}),
    groups: plan.super_set ? withEarlyAccess(plan, sets) : sets,
    multivariate: clientMultivariate(filters),
    payloads: filters['payloads'] ?? {},
    aggregation_group_type_index: plan.aggregation,
    holdout: clientHoldout(plan),
  }
}

/** SDKs in languages with strict types refuse all flags when one has something else than a list of variants. */
function clientMultivariate({ multivariate }: RawFilter): RawFilter | null {
  return isObject(multivariate) && Array.isArray(multivariate['variants']) ? multivariate : null
}

/** SDKs name the variant `holdout-<id>`. A holdout with another name has a `LocalReason` and does not come here. */
function clientHoldout({ holdout }: FlagPlan): RawFilter | null {
  if (!holdout) return null
  const id = Number(holdout.result.variant?.replace(/^holdout-/, ''))
  return { id, exclusion_percentage: holdout.percentage }
}

/** One condition set as equivalent sets; several if a cohort with alternatives is expanded. */
function clientSets(
  raw: RawFilter,
  filters: readonly CompiledFilter[],
  context: ClientContext,
): RawFilter[] {
  const parts = Array.isArray(raw['properties']) ? raw['properties'] : []
  const properties = filters.map((filter, index) => clientProperty(parts[index], filter, context))
  const cohorts = filters.filter((filter) => filter.kind === 'cohort')
  const cohort = cohorts.length === 1 && !context.send_cohorts ? cohorts[0] : undefined
  const alternatives = cohort ? expandCohort(cohort, context.definitions) : null
  if (!cohort || !alternatives) return [{ ...raw, properties }]
  const others = properties.filter((_property, index) => filters[index] !== cohort)
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

/** Numbers as text: SDKs compare strictly, the server compares 5 and "5" as equal. */
function clientValue({ operator, value }: PropertyFilter): unknown {
  if (operator !== 'exact' && operator !== 'is_not') return value
  if (Array.isArray(value))
    return value.map((item) => (typeof item === 'number' ? String(item) : item))
  return typeof value === 'number' ? String(value) : value
}

function clientCohortProperty({ cohort_id, is_negated }: CohortFilter): RawFilter {
  return { key: 'id', type: 'cohort', value: cohort_id, operator: is_negated ? 'not_in' : 'in' }
}

/** Early access as a first set, and "property not set" in the others: it decides for persons that have its property. */
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
  const not_enrolled = super_set.keys.map((key) => ({
    key,
    type: 'person',
    operator: 'is_not_set',
    value: 'is_not_set',
  }))
  const others = sets.map((set) => {
    const filters = Array.isArray(set['properties']) ? set['properties'] : []
    return { ...set, properties: [...filters, ...not_enrolled] }
  })
  return [first, ...others]
}

/** A cohort in disjunctive normal form, a list of property lists; null if it cannot be expanded. */
function expandCohort(filter: CohortFilter, definitions: CompiledFlags): RawFilter[][] | null {
  const cohort = definitions.cohorts.get(filter.cohort_id)
  if (filter.is_negated || cohort?.kind !== 'tree') return null
  return expandNode(cohort.root)
}

/** A cohort with more alternatives is not expanded. */
const ALTERNATIVES_MAX = 20

function expandNode(node: CohortNode): RawFilter[][] | null {
  if (node.kind === 'leaf') {
    const leaf = node.filter.kind === 'property' && !node.is_negated ? clientLeaf(node) : null
    return leaf && [[leaf]]
  }
  let alternatives: RawFilter[][] = node.kind === 'any' ? [] : [[]]
  for (const child of node.nodes) {
    const expanded = expandNode(child)
    if (!expanded) return null
    alternatives =
      node.kind === 'any'
        ? [...alternatives, ...expanded]
        : alternatives.flatMap((left) => expanded.map((right) => [...left, ...right]))
    if (alternatives.length > ALTERNATIVES_MAX) return null
  }
  return alternatives.length > 0 ? alternatives : null
}

/** A cohort's tree for SDKs: a group has only groups or only leaves. Null if it cannot be expressed. */
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

/** By `negation`, as PostHog sends it: inside of cohorts most SDKs do not read the operator. */
function clientNestedCohort({ cohort_id, is_negated }: CohortFilter): RawFilter {
  return { key: 'id', type: 'cohort', value: cohort_id, operator: 'in', negation: is_negated }
}

function clientLeaf({ filter, is_negated }: CohortNode & { kind: 'leaf' }): RawFilter | null {
  if (filter.kind === 'cohort') return clientNestedCohort(filter)
  if (filter.kind !== 'property' || filterReasons(filter).length > 0) return null
  const { key, operator } = filter
  const value = clientValue(filter)
  return { key, type: 'person', operator, value, negation: is_negated }
}
