/** Legacy filters (`insight=TRENDS&events=[…]`), parsed to members of current queries. */

import type { PropertyFilters, Series } from '../../contract/insights/parts.ts'
import { refuseMember } from '../../errors.ts'
import { isObject } from '../../json.ts'

/** Parameters by name: of a URL, as texts, or of a JSON body. */
export type LegacyParameters = Readonly<Record<string, unknown>>

/** A text parameter; null where missing or empty. */
export function legacyText(input: LegacyParameters, name: string): string | null {
  const value = input[name]
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : null
}

/** A whole, non-negative number; null where missing. Refuses others, naming the parameter. */
export function countOf(input: LegacyParameters, name: string): number | null {
  const text = legacyText(input, name)
  if (text === null) return null
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw refuseMember('A valid integer is required.', name)
}

/** A boolean, in every spelling that clients use. */
export function legacyBoolean(input: LegacyParameters, name: string): boolean {
  return isYes(input[name])
}

/** True for a value of an address or a form that means yes; every other word means no. */
export function isYes(value: unknown): boolean {
  if (typeof value !== 'string') return value === true || value === 1
  return /^(true|1|yes|y|t|on)$/i.test(value.trim())
}

/** A JSON parameter, parsed; null where missing. Refuses invalid JSON. */
export function legacyJson(input: LegacyParameters, name: string): unknown {
  const value = input[name]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw refuseMember('Must be JSON.', name)
  }
}

/** A JSON list; empty where missing. Refuses others. */
export function listOf(input: LegacyParameters, name: string): readonly unknown[] {
  const value = legacyJson(input, name) ?? []
  if (Array.isArray(value)) return value
  throw refuseMember('Must be a JSON list.', name)
}

/** Members common to all kinds. */
export function commonOf(input: LegacyParameters): {
  readonly dateRange: { readonly date_from: string | null; readonly date_to: string | null }
  readonly properties: PropertyFilters | null
  readonly filterTestAccounts: boolean
  readonly aggregation_group_type_index: number | null
  readonly samplingFactor: number | null
} {
  const sampling = legacyText(input, 'sampling_factor')
  return {
    dateRange: { date_from: legacyText(input, 'date_from'), date_to: legacyText(input, 'date_to') },
    properties: propertyFiltersOf(legacyJson(input, 'properties'), 'properties', OF_EVENTS),
    filterTestAccounts: legacyBoolean(input, 'filter_test_accounts'),
    aggregation_group_type_index: countOf(input, 'aggregation_group_type_index'),
    samplingFactor: sampling === null ? null : Number(sampling),
  }
}

/** Events and actions as series, by their `order`. Refuses others. */
export function seriesOf(input: LegacyParameters): readonly Series[] {
  const entities = [
    ...listOf(input, 'events').map((entity) => ({ entity, name: 'events', type: 'events' })),
    ...listOf(input, 'actions').map((entity) => ({ entity, name: 'actions', type: 'actions' })),
  ]
  return entities
    .map(({ entity, name, type }, index) => {
      const members = membersOf(entity, name)
      const order = typeof members['order'] === 'number' ? members['order'] : index
      return { order, series: entitySeries(members, type, name) }
    })
    .toSorted((a, b) => a.order - b.order)
    .map(({ series }) => series)
}

/** One event or action as a series. Refuses others, naming the parameter. */
export function entityOf(entity: unknown, name: string): Series {
  const members = membersOf(entity, name)
  return entitySeries(members, members['type'] === 'actions' ? 'actions' : 'events', name)
}

/** Members of a series that have the same names in both forms. */
const SAME_NAMES = [
  'custom_name',
  'math',
  'math_group_type_index',
  'math_hogql',
  'math_property',
] as const

function entitySeries(members: LegacyParameters, type: string, name: string): Series {
  const same_members = Object.fromEntries(
    SAME_NAMES.flatMap((key) => (key in members ? [[key, members[key]]] : [])),
  )
  const properties = propertyFiltersOf(members['properties'] ?? null, name, OF_EVENTS)
  const id = legacyText(members, 'id')
  if (type === 'actions')
    return { kind: 'ActionsNode', id: actionId(id, name), ...same_members, properties }
  return { kind: 'EventsNode', event: id, ...same_members, properties }
}

function actionId(id: string | null, name: string): number {
  const known = Number(id)
  if (Number.isSafeInteger(known) && known > 0) return known
  throw refuseMember('An action needs its id.', name)
}

/**
 * Property filters: a list, a group, one filter, or the oldest form `{"age__gt": 5}`, with the operator in the
 * key and `more` as members of each. Refuses others.
 */
export function propertyFiltersOf(
  value: unknown,
  name: string,
  more: { readonly type?: 'event' } = {},
): PropertyFilters | null {
  if (value === null) return null
  if (Array.isArray(value)) return value.map((filter) => membersOf(filter, name))
  const members = membersOf(value, name)
  if ('values' in members) return members
  if ('key' in members && FILTER_MEMBERS.some((member) => member in members)) return [members]
  return Object.entries(members).map(([written, wanted]) => {
    const [key = '', operator = 'exact'] = written.split('__', 2)
    return { key, operator, value: wanted, ...more }
  })
}

/** The type of the oldest form's filters in insights; in lists they are of what is listed. */
const OF_EVENTS = { type: 'event' } as const

/** Members that one filter has beside its key. */
const FILTER_MEMBERS = ['operator', 'type', 'value'] as const

/** Whether a value is a JSON object. */
export function membersOf(value: unknown, name: string): LegacyParameters {
  if (isObject(value)) return value
  throw refuseMember('Must hold JSON objects.', name)
}
