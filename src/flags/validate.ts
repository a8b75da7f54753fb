/** Validates a flag before it is stored: CHECKS in order; the first fault is reported. */
import { isObject } from '../json.ts'
import { type CompiledFlags, dependenciesOf, flagFinder } from './definition.ts'
import type { StoredFlag } from './definition-types.ts'
import { FlagFailure } from './failure.ts'
import { type CompiledFilter, type FindFlag, SharedFilters } from './filter.ts'
import { parseDateBound } from './operators/date.ts'
import { readRange } from './operators/operators.ts'
import { asText } from './operators/value.ts'
import { type FlagPlan, planFlag } from './plan.ts'

/** A fault of a draft; the route throws it as a refusal. */
type FlagFault = {
  readonly code:
    | 'cohort_does_not_exist'
    | 'invalid_date'
    | 'invalid_input'
    | 'invalid_key'
    | 'invalid_value'
    | 'max_length'
    | 'unique'
  readonly attr: 'filters' | 'key'
  readonly detail: string
}

type FlagUnderCheck = {
  readonly flag: StoredFlag
  readonly filters: Readonly<Record<string, unknown>>
  readonly plan: FlagPlan
  /** The project's flags before this change. */
  readonly definitions: CompiledFlags
  /** Position of the flag that is changed; null for a new one. */
  readonly position: number | null
}

type FlagCheck = (draft: FlagUnderCheck) => FlagFault | null

const KEY_CHARS_MAX = 400
const LIST_VALUES_MAX = 1000

/** Checks of a draft whose key is valid and whose filters compile. A new line refuses more drafts. */
const CHECKS: readonly FlagCheck[] = [
  checkPropertyKinds,
  checkPercentages,
  checkVariants,
  checkVariantOverrides,
  checkProperties,
  checkPayloads,
  checkDependencies,
]

/** Operators whose values are sent as text, numbers too. */
const TEXT_VALUED = /^(?:not_)?(?:regex|icontains|starts_with|ends_with)$|^[gl]te?$/

/** The first fault of a flag that is to be stored; null without one. */
export function findFlagFault(flag: StoredFlag, definitions: CompiledFlags): FlagFault | null {
  const key_fault = keyFault(flag, definitions)
  if (key_fault) return key_fault
  if (!isObject(flag.filters)) return filtersFault('Filters must be an object.')
  const position = definitions.flags.findIndex((other) => other.flag.id === flag.id)
  try {
    const plan = planFlag(flag, {
      source: 'person',
      // The patterns of an existing flag are counted among the project's already.
      shared: new SharedFilters(position < 0 ? definitions.pattern_instructions : 0),
      findFlag: draftFlagFinder(flag, definitions),
    })
    const draft = { flag, filters: flag.filters, plan, definitions }
    return firstFault({ ...draft, position: position < 0 ? null : position })
  } catch (error) {
    if (error instanceof FlagFailure) return filtersFault(error.message)
    throw error
  }
}

/** Filters in the stored form: payloads are JSON text, whatever JSON was sent. */
export function normalizeFilters(filters: unknown): unknown {
  if (!isObject(filters) || !isObject(filters['payloads'])) return filters
  const payloads = Object.entries(filters['payloads']).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return { ...filters, payloads: Object.fromEntries(payloads) as unknown }
}

function firstFault(draft: FlagUnderCheck): FlagFault | null {
  for (const check of CHECKS) {
    const fault = check(draft)
    if (fault) return fault
  }
  return null
}

function keyFault({ id, key }: StoredFlag, definitions: CompiledFlags): FlagFault | null {
  const position = definitions.positions.get(key)
  const owner = position === undefined ? undefined : definitions.flags[position]?.flag
  if (owner && owner.id !== id) {
    const detail = 'There is already a feature flag with this key.'
    return { code: 'unique', attr: 'key', detail }
  }
  if (!/^[\w-]+$/.test(key)) {
    const detail = 'Only letters, numbers, hyphens (-) & underscores (_) are allowed.'
    return { code: 'invalid_key', attr: 'key', detail }
  }
  if (key.length <= KEY_CHARS_MAX) return null
  const detail = `Ensure this field has no more than ${KEY_CHARS_MAX} characters.`
  return { code: 'max_length', attr: 'key', detail }
}

/** Finds flags by key or id. A new flag gets the position after the last one, so that it can refer to itself. */
function draftFlagFinder(flag: StoredFlag, { flags, positions }: CompiledFlags): FindFlag {
  const findOther = flagFinder(
    flags.map((other) => other.flag),
    positions,
  )
  return (reference) => findOther(reference) ?? (reference === flag.key ? flags.length : null)
}

const isForeign = (filter: CompiledFilter): boolean =>
  filter.kind === 'broken' && filter.is_foreign === true

function checkPropertyKinds({ plan }: FlagUnderCheck): FlagFault | null {
  for (const { filters, aggregation } of plan.sets) {
    const isAllowed = (filter: CompiledFilter): boolean =>
      aggregation === null
        ? filter.kind !== 'property' || filter.source === 'person'
        : filter.kind === 'broken' || (filter.kind === 'property' && filter.source === aggregation)
    if (filters.every((filter) => isAllowed(filter) && !isForeign(filter))) continue
    const allowed = aggregation === null ? 'person and cohort' : 'group'
    return filtersFault(`Filters are not valid (can only use ${allowed} properties)`)
  }
  return null
}

function checkPercentages({ plan }: FlagUnderCheck): FlagFault | null {
  const is_in_range = plan.sets.every(
    ({ threshold }) => threshold === null || (threshold >= 0 && threshold <= 1),
  )
  return is_in_range ? null : filtersFault('Rollout percentages must be between 0 and 100.')
}

function checkVariants({ filters }: FlagUnderCheck): FlagFault | null {
  const variants = variantsOf(filters)
  if (variants.length === 0) return null
  const sum = variants.reduce((total, variant) => total + variant.percentage, 0)
  // Shares with fractions may miss 100 by a rounding.
  if (Math.abs(sum - 100) < 1e-6) return null
  return filtersFault('Invalid variant definitions: Variant rollout percentages must sum to 100.')
}

function checkVariantOverrides({ filters, plan }: FlagUnderCheck): FlagFault | null {
  const keys = new Set<unknown>(variantsOf(filters).map((variant) => variant.key))
  const sets = Array.isArray(filters['groups']) && plan.sets.length > 0 ? filters['groups'] : []
  const is_known = sets.every((set: unknown) => {
    const variant = isObject(set) ? set['variant'] : null
    return !variant || keys.has(variant)
  })
  return is_known ? null : filtersFault('Filters are not valid (variant override does not exist)')
}

function checkProperties({ plan, definitions }: FlagUnderCheck): FlagFault | null {
  for (const set of plan.sets) {
    for (const filter of set.filters) {
      const fault = filterFault(filter, definitions)
      if (fault) return fault
    }
  }
  return null
}

function filterFault(filter: CompiledFilter, definitions: CompiledFlags): FlagFault | null {
  switch (filter.kind) {
    case 'broken':
      return { code: 'invalid_value', attr: 'filters', detail: filter.detail }
    case 'flag':
      return null
    case 'cohort': {
      if (definitions.cohorts.has(filter.cohort_id)) return null
      const detail = `Cohort with id ${filter.cohort_id} does not exist`
      return { code: 'cohort_does_not_exist', attr: 'filters', detail }
    }
    case 'property':
      return valueFault(filter.key, filter.operator, filter.value)
  }
}

function valueFault(key: string, operator: string, value: unknown): FlagFault | null {
  if (Array.isArray(value) && value.length > LIST_VALUES_MAX) {
    return filtersFault(
      `Property group expressions of type ${key} cannot contain more than ${LIST_VALUES_MAX} values.`,
    )
  }
  if (operator.startsWith('is_date') && parseDateBound(value) === null) {
    const detail = `Invalid date value: ${asText(value)}`
    return { code: 'invalid_date', attr: 'filters', detail }
  }
  const range = operator.endsWith('between') ? readRange(value) : null
  if (typeof range === 'string') {
    return { code: 'invalid_value', attr: 'filters', detail: `${operator} operator ${range}` }
  }
  if (TEXT_VALUED.test(operator) && typeof value !== 'string') {
    const detail = `Invalid value for operator ${operator}: ${asText(value)}`
    return { code: 'invalid_value', attr: 'filters', detail }
  }
  return null
}

function checkPayloads({ filters }: FlagUnderCheck): FlagFault | null {
  const payloads = filters['payloads'] ?? {}
  if (!isObject(payloads)) return filtersFault('Payloads must be passed as a dictionary')
  if (!Object.values(payloads).every(isJsonText)) {
    return filtersFault('Payload value is not valid JSON')
  }
  const variants = new Set<unknown>(variantsOf(filters).map((variant) => variant.key))
  const keys = Object.keys(payloads)
  if (variants.size > 0) {
    return keys.every((key) => variants.has(key))
      ? null
      : filtersFault('Payload keys must match a variant key for multivariate flags')
  }
  return keys.every((key) => key === 'true')
    ? null
    : filtersFault("Payload keys must be 'true' for boolean flags")
}

function isJsonText(value: unknown): boolean {
  if (typeof value !== 'string') return true
  try {
    JSON.parse(value)
    return true
  } catch {
    return false
  }
}

/** Breadth-first search from the flag through dependencies: a way back to the flag is a cycle. */
function checkDependencies({
  flag,
  plan,
  definitions,
  position,
}: FlagUnderCheck): FlagFault | null {
  const start = position ?? definitions.flags.length
  const keyOf = (index: number): string =>
    index === start ? flag.key : (definitions.flags[index]?.flag.key ?? '')
  const came_from = new Map(plan.depends_on.map((index) => [index, start]))
  if (came_from.has(start)) {
    return filtersFault(`Feature flag '${flag.key}' cannot depend on itself`)
  }
  for (const index of came_from.keys()) {
    const dependency = definitions.flags[index]
    for (const next of dependency ? dependenciesOf(dependency.plan) : []) {
      if (next === start) {
        const path = findCycle(index, start, came_from).map(keyOf).join(' → ')
        return filtersFault(`Circular dependency detected: ${path}`)
      }
      if (!came_from.has(next)) came_from.set(next, index)
    }
  }
  return null
}

/** The positions of the cycle from `start` through `last`, the flag that depends on it, back to `start`. */
function findCycle(last: number, start: number, came_from: ReadonlyMap<number, number>): number[] {
  const path = [start]
  for (let index = last; index !== start; index = came_from.get(index) ?? start) path.unshift(index)
  return [start, ...path]
}

function variantsOf(
  filters: Readonly<Record<string, unknown>>,
): readonly { readonly key: string; readonly percentage: number }[] {
  const multivariate = filters['multivariate']
  const variants = isObject(multivariate) ? multivariate['variants'] : []
  if (!Array.isArray(variants)) return []
  return variants.map((variant: unknown) => ({
    key: isObject(variant) ? asText(variant['key']) : '',
    percentage: isObject(variant) ? Number(variant['rollout_percentage'] ?? 0) : 0,
  }))
}

function filtersFault(detail: string): FlagFault {
  return { code: 'invalid_input', attr: 'filters', detail }
}
