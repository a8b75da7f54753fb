/** Explains a flag's value for one person, by condition set and property. */

import { evaluateFlags } from '../../flags/evaluate.ts'
import { FlagFailure } from '../../flags/failure.ts'
import type { CompiledFilter } from '../../flags/filter.ts'
import { matchesFilter } from '../../flags/match.ts'
import { asText, ownProperty } from '../../flags/operators/value.ts'
import { setsOf } from '../../flags/plan.ts'
import { type FlagResult, valueOf } from '../../flags/result.ts'
import { type FlagPerson, openSubject, type Subject } from '../../flags/subject.ts'
import { isObject } from '../../json.ts'
import type { Flag } from './flag.ts'
import type { ProjectFlags } from './flag-definitions.ts'

/** The outcome of one property filter. */
export type EvaluatedProperty = {
  readonly key: string
  readonly operator: string
  readonly value: unknown
  readonly type: string
  /** Null where the person has none. */
  readonly actual_value: unknown
  readonly matched: boolean
  readonly explanation: string
}

/** The outcome of one condition set. */
type EvaluatedSet = {
  readonly index: number
  /** Whether this set decided the flag's value. */
  readonly matched: boolean
  readonly properties_matched: boolean
  readonly rollout_percentage: number
  /** Whether its properties match but its rollout excludes the person. */
  readonly rollout_excluded: boolean
  readonly variant: string | null
  readonly explanation: string
  readonly properties: readonly EvaluatedProperty[]
}

export type FlagExplanation = {
  /** Null for a flag that is not evaluated: inactive or deleted. */
  readonly result: FlagResult | null
  readonly sets: readonly EvaluatedSet[]
  /** The person's properties that the flag reads. */
  readonly person_properties: Readonly<Record<string, unknown>>
}

/** Evaluates one flag for a person, and each of its conditions. */
export function explainFlag(
  { definitions }: ProjectFlags,
  flag: Flag,
  person: FlagPerson,
): FlagExplanation {
  const { results } = evaluateFlags(definitions, person)
  const result = results.find((one) => one.flag.id === flag.id) ?? null
  const compiled = definitions.flags.find((one) => one.flag.id === flag.id)
  if (compiled === undefined || compiled.plan.kind === 'failed') {
    return { result, sets: [], person_properties: {} }
  }
  const subject = openSubject(person, definitions)
  for (const one of results) {
    const position = definitions.positions.get(one.flag.key)
    if (position !== undefined) subject.results[position] = one
  }
  const raw = setsOf(isObject(flag.filters) ? flag.filters : {})
  const sets = compiled.plan.sets.map((set, index) =>
    evaluateSet(isObject(raw[index]) ? raw[index] : {}, {
      filters: set.filters,
      subject,
      index,
      result,
    }),
  )
  return { result, sets, person_properties: personPropertiesIn(sets) }
}

/** One compiled condition set, and the inputs of its evaluation. */
type CompiledSet = {
  readonly filters: readonly CompiledFilter[]
  readonly subject: Subject
  readonly index: number
  readonly result: FlagResult | null
}

function evaluateSet(
  raw: StoredSet,
  { filters, subject, index, result }: CompiledSet,
): EvaluatedSet {
  const listed: unknown = raw['properties']
  const stored: readonly unknown[] = Array.isArray(listed) ? listed : []
  const properties = filters.map((filter, at) => evaluateFilter(stored[at], filter, subject))
  const properties_matched = properties.every(({ matched }) => matched)
  const { variant, rollout_percentage } = raw
  const matched =
    result?.reason.code === 'condition_match' && result.reason.condition_index === index
  // Sets after the deciding one were not reached.
  const deciding_index = result?.enabled === true ? (result.reason.condition_index ?? -1) : Infinity
  const rollout_excluded = properties_matched && !matched && index < deciding_index
  return {
    index,
    matched,
    properties_matched,
    rollout_percentage: typeof rollout_percentage === 'number' ? rollout_percentage : 100,
    rollout_excluded,
    variant: typeof variant === 'string' && variant !== '' ? variant : null,
    explanation: explain({ matched, properties_matched, rollout_excluded }),
    properties,
  }
}

/** A condition set as stored. */
type StoredSet = Readonly<Record<string, unknown>>

function explain(set: Pick<EvaluatedSet, 'matched' | 'properties_matched' | 'rollout_excluded'>) {
  if (set.matched) return 'This condition set decided the value'
  if (!set.properties_matched) return 'Not all properties of this condition set hold'
  return set.rollout_excluded
    ? 'The properties hold, but the rollout leaves this identifier out'
    : 'The properties hold, but an earlier condition set decided the value'
}

function evaluateFilter(
  stored: unknown,
  filter: CompiledFilter,
  subject: Subject,
): EvaluatedProperty {
  const raw = isObject(stored) ? stored : {}
  const outcome = tryToMatch(filter, subject)
  const actual_value = actualValue(filter, subject)
  const shown = actual_value === null ? 'nothing' : asText(actual_value)
  return {
    key: asText(raw['key'] ?? ''),
    operator: asText(raw['operator'] ?? 'exact'),
    value: raw['value'] ?? null,
    type: asText(raw['type'] ?? 'person'),
    actual_value,
    matched: outcome === true,
    explanation:
      typeof outcome === 'string'
        ? outcome
        : `${outcome ? 'Holds' : 'Does not hold'}: the value is ${shown}`,
  }
}

/** Returns whether the filter matches, or the reason why that is unknown. */
function tryToMatch(filter: CompiledFilter, subject: Subject): boolean | string {
  if (filter.kind === 'broken') return filter.detail
  try {
    return matchesFilter(filter, subject)
  } catch (error) {
    if (error instanceof FlagFailure) return error.message
    throw error
  }
}

function actualValue(filter: CompiledFilter, subject: Subject): unknown {
  switch (filter.kind) {
    case 'property': {
      const { source, key } = filter
      const { person_properties } = subject.person
      const group = source === 'person' ? null : subject.groups[source]
      return (
        ownProperty(source === 'person' ? person_properties : (group?.properties ?? {}), key) ??
        null
      )
    }
    case 'cohort':
      return null
    case 'flag': {
      const result = subject.results[filter.flag_index]
      return result === undefined ? null : valueOf(result)
    }
    case 'broken':
      return null
  }
}

function personPropertiesIn(sets: readonly EvaluatedSet[]): Readonly<Record<string, unknown>> {
  const stored = sets
    .flatMap(({ properties }) => properties)
    .filter(({ type, actual_value }) => type === 'person' && actual_value !== null)
  return Object.fromEntries(stored.map(({ key, actual_value }) => [key, actual_value]))
}
