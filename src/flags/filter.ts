/** Compiles one filter of a condition set: a property test, a cohort membership, the value of another flag. */
import { isObject } from '../json.ts'
import { FlagFailure } from './failure.ts'
import { type FlagOperator, findOperator, type ValueTest } from './operators/operators.ts'
import { compilePattern, patternSizeFault } from './operators/pattern.ts'
import { asText } from './operators/value.ts'

/** The owner of a tested property: the person, or the group with a type index. */
export type PropertySource = 'person' | number

export type PropertyFilter = {
  readonly kind: 'property'
  readonly key: string
  readonly source: PropertySource
  readonly operator: string
  /** The filter's value as stored. */
  readonly value: unknown
  readonly matches_missing: boolean
  readonly test: ValueTest
  /** Whether every object inherits a member of this name: then a read must check that it is an own one. */
  readonly is_inherited: boolean
  /** Index of the filter's answer within an evaluation. Equal filters of a project share one. */
  readonly slot: number
}

export type CohortFilter = {
  readonly kind: 'cohort'
  readonly cohort_id: number
  readonly is_negated: boolean
}

type FlagFilter = {
  readonly kind: 'flag'
  readonly flag_index: number
  readonly expected: boolean | string
}

/** A filter that cannot be evaluated (unknown operator, bad pattern): never matches, and is reported as an error. */
export type BrokenFilter = {
  readonly kind: 'broken'
  readonly detail: string
  /** Set if it tests something that flags do not read, such as events. */
  readonly is_foreign?: true
}

export type CompiledFilter = BrokenFilter | CohortFilter | FlagFilter | PropertyFilter

/** Finds the position of a flag by its key, or its id as text; null if there is none. */
export type FindFlag = (reference: string) => number | null

/** Instructions of all patterns of a project: at worst half a second to compile. */
const INSTRUCTIONS_MAX = 50_000

/** A project's property filters by content, so that equal ones are compiled and evaluated once. */
export class SharedFilters {
  readonly #filters = new Map<string, BrokenFilter | PropertyFilter>()
  #instructions: number

  /** `instructions`: those of other patterns of the project. */
  constructor(instructions = 0) {
    this.#instructions = instructions
  }

  /** Instructions of all patterns so far. */
  get instructions(): number {
    return this.#instructions
  }

  get size(): number {
    return this.#filters.size
  }

  /** The filter with this content; `make` is called for the first one, with the index of its answers. */
  share(key: string, make: (slot: number) => BrokenFilter | PropertyFilter) {
    const shared = this.#filters.get(key)
    if (shared) return shared
    const filter = make(this.#filters.size)
    this.#filters.set(key, filter)
    return filter
  }

  /** Counts a pattern's instructions; false if the project has too many. */
  tryCount(instructions: number): boolean {
    if (this.#instructions + instructions > INSTRUCTIONS_MAX) return false
    this.#instructions += instructions
    return true
  }
}

export type FilterCompileContext = {
  readonly shared: SharedFilters
  /** The owner of properties in filters without a type. */
  readonly source: PropertySource
  readonly findFlag: FindFlag
}

const OBJECT_KEYS: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype))

/** Compiles one stored filter. Throws FlagFailure if it is not a filter, or names a missing flag. */
export function compileFilter(raw: unknown, context: FilterCompileContext): CompiledFilter {
  if (!isObject(raw)) throw new FlagFailure('invalid_definition', 'A filter must be an object.')
  const type = raw['type'] ?? null
  switch (type) {
    case 'cohort':
      return compileCohortFilter(raw)
    case 'flag':
      return compileFlagFilter(raw, context.findFlag)
    case 'group':
      return compilePropertyFilter(raw, groupSource(raw, context.source), context.shared)
    case 'person':
      return compilePropertyFilter(raw, 'person', context.shared)
    case null:
      return compilePropertyFilter(raw, context.source, context.shared)
    default:
      return {
        kind: 'broken',
        detail: `Filters of type ${asText(type)} are not known.`,
        is_foreign: true,
      }
  }
}

/** Compiles a filter on a property of the given source, or returns the shared one. */
export function compilePropertyFilter(
  raw: Readonly<Record<string, unknown>>,
  source: PropertySource,
  shared: SharedFilters,
): BrokenFilter | PropertyFilter {
  const key = raw['key']
  if (typeof key !== 'string') {
    throw new FlagFailure('invalid_definition', 'A property filter needs a key.')
  }
  const test_key = JSON.stringify([source, key, raw['operator'] ?? null, raw['value'] ?? null])
  return shared.share(test_key, (slot) => newPropertyFilter(raw, { key, source, slot }, shared))
}

function newPropertyFilter(
  raw: Readonly<Record<string, unknown>>,
  at: Pick<PropertyFilter, 'key' | 'slot' | 'source'>,
  shared: SharedFilters,
): BrokenFilter | PropertyFilter {
  const name = raw['operator'] ?? 'exact'
  const operator = typeof name === 'string' ? findOperator(name) : null
  if (!operator) return { kind: 'broken', detail: `Operator ${asText(name)} is not known.` }
  const value = raw['value'] ?? null
  // A filter without a value matches nothing, not even a missing property.
  const is_idle = operator.needs_value && value === null
  const fault = is_idle ? null : faultOfPattern(operator, value, shared)
  if (fault !== null) return { kind: 'broken', detail: fault }
  const test = is_idle ? () => false : operator.prepare(value)
  if (!test) return { kind: 'broken', detail: `Operator ${operator.name} cannot use this value.` }
  const matches_missing = operator.matches_missing && !is_idle
  const is_inherited = OBJECT_KEYS.has(at.key)
  return {
    kind: 'property',
    ...at,
    operator: operator.name,
    value,
    matches_missing,
    test,
    is_inherited,
  }
}

/** The fault of a regular expression; null for a valid one, and for other operators. */
function faultOfPattern(
  { name }: FlagOperator,
  value: unknown,
  shared: SharedFilters,
): string | null {
  if (!name.endsWith('regex')) return null
  const text = asText(value)
  const pattern = compilePattern(text)
  if (pattern === null) return patternSizeFault(text) ?? `Operator ${name} cannot use this value.`
  if (shared.tryCount(pattern.instructions)) return null
  return 'The regular expressions of the project are too many or too large.'
}

/** Compiles "is in this cohort" and its opposites. */
export function compileCohortFilter(
  raw: Readonly<Record<string, unknown>>,
): BrokenFilter | CohortFilter {
  const value = raw['value']
  const cohort_id = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof cohort_id !== 'number' || !Number.isSafeInteger(cohort_id)) {
    throw new FlagFailure('invalid_definition', 'A cohort filter needs the id of a cohort.')
  }
  const operator = raw['operator'] ?? 'in'
  const is_in = operator === 'in' || operator === 'exact'
  if (!is_in && operator !== 'not_in' && operator !== 'is_not') {
    return { kind: 'broken', detail: `Operator ${asText(operator)} is not one for cohorts.` }
  }
  return { kind: 'cohort', cohort_id, is_negated: (raw['negation'] === true) === is_in }
}

function compileFlagFilter(
  raw: Readonly<Record<string, unknown>>,
  findFlag: FindFlag,
): BrokenFilter | FlagFilter {
  const operator = raw['operator'] ?? 'flag_evaluates_to'
  if (operator !== 'flag_evaluates_to' && operator !== 'exact') {
    return { kind: 'broken', detail: `Operator ${asText(operator)} is not one for flags.` }
  }
  const reference = asText(raw['key'] ?? '')
  const flag_index = findFlag(reference)
  if (flag_index === null) {
    throw new FlagFailure('missing_dependency', `There is no flag ${reference}.`)
  }
  const expected = raw['value']
  if (typeof expected !== 'boolean' && typeof expected !== 'string') {
    return { kind: 'broken', detail: 'A flag can only be expected to be true, false or a variant.' }
  }
  return { kind: 'flag', flag_index, expected }
}

function groupSource(
  raw: Readonly<Record<string, unknown>>,
  fallback: PropertySource,
): PropertySource {
  const index = raw['group_type_index'] ?? fallback
  if (index === 'person' || !Number.isInteger(index)) {
    throw new FlagFailure('invalid_definition', 'A group filter needs a group_type_index.')
  }
  return Number(index)
}
