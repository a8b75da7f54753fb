/** Filters and orders of lists of definitions: the parameter, and a predicate or an order for its value. */
import { Refusal } from '../../../errors.ts'
import { legacyBoolean, listOf } from '../../../insights/legacy/legacy-filters.ts'
import { queryValue, queryValues, requireSearch } from '../../answers/pages.ts'
import type { DetectedName, DetectedProperty } from './definition-names.ts'

type DefinitionListParams = Readonly<Record<string, string>>
type DefinitionFilter<Name extends DetectedName> = (
  input: DefinitionListParams,
) => (one: Name) => boolean

const FOR_ALL: Readonly<Record<string, DefinitionFilter<DetectedName>>> = {
  search: (input) => {
    // A repeated word is looked for once in each of up to 10,000 names.
    const words = [
      ...new Set(
        requireSearch(input['search'] ?? '')
          .toLowerCase()
          .split(/\s+/),
      ),
    ]
    return ({ name }) => words.every((word) => name.toLowerCase().includes(word))
  },
  exclude_hidden: (input) => {
    const is_wanted = legacyBoolean(input, 'exclude_hidden')
    return ({ definition }) => !is_wanted || !definition.hidden
  },
  verified: (input) => {
    const wanted = legacyBoolean(input, 'verified')
    return ({ definition }) => definition.verified === wanted
  },
  tags: (input) => {
    const allowed = new Set(listOf(input, 'tags'))
    return ({ definition }) => definition.tags.some((tag) => allowed.has(tag))
  },
}

const isOwn = (name: string): boolean => !name.startsWith('$')

const FOR_EVENTS: Readonly<Record<string, DefinitionFilter<DetectedName>>> = {
  ...FOR_ALL,
  event_type: (input) => {
    const type = input['event_type']
    if (type === 'event_custom') return ({ name }) => isOwn(name)
    return type === 'event_posthog' ? ({ name }) => !isOwn(name) : () => true
  },
}

const FOR_PROPERTIES: Readonly<Record<string, DefinitionFilter<DetectedProperty>>> = {
  ...FOR_ALL,
  properties: (input) => {
    const allowed = new Set((input['properties'] ?? '').split(','))
    return ({ name }) => allowed.has(name)
  },
  excluded_properties: (input) => {
    const unwanted = new Set(listOf(input, 'excluded_properties'))
    return ({ name }) => !unwanted.has(name)
  },
  exclude_core_properties: (input) => {
    const is_wanted = legacyBoolean(input, 'exclude_core_properties')
    return ({ name }) => !is_wanted || isOwn(name)
  },
  is_numerical: (input) => {
    const wanted = legacyBoolean(input, 'is_numerical')
    return ({ property_type }) => (property_type === 'Numeric') === wanted
  },
  is_feature_flag: (input) => {
    const wanted = legacyBoolean(input, 'is_feature_flag')
    return ({ name }) => name.startsWith('$feature/') === wanted
  },
}

/** Returns the events that a request lists, in its order. Refuses malformed lists and unknown orders. */
export function filterEvents(
  request: Request,
  events: readonly DetectedName[],
): readonly DetectedName[] {
  const wanted = filterNames(request, events, FOR_EVENTS)
  const ordering = queryValue(request, 'ordering') ?? ''
  if (ordering === '' || ordering === 'name') return wanted
  if (ordering === '-name') return wanted.toReversed()
  const member = TIMES.get(ordering.replace(/^-/, ''))
  if (member === undefined) {
    const detail = `${JSON.stringify(ordering.slice(0, 100))} is not a valid choice.`
    throw new Refusal('invalid_choice', detail, { attr: 'ordering' })
  }
  const sign = ordering.startsWith('-') ? -1 : 1
  return wanted.toSorted((a, b) => sign * (a[member] - b[member]))
}

/** Times by which lists of events can be ordered; the name is the default. */
const TIMES: ReadonlyMap<string, 'first_seen' | 'last_seen'> = new Map([
  ['created_at', 'first_seen'],
  ['last_seen_at', 'last_seen'],
])

/** Returns the properties that a request lists. Refuses malformed lists. */
export function filterProperties(
  request: Request,
  properties: readonly DetectedProperty[],
): readonly DetectedProperty[] {
  return filterNames(request, properties, FOR_PROPERTIES)
}

function filterNames<Name extends DetectedName>(
  request: Request,
  names: readonly Name[],
  filters: Readonly<Record<string, DefinitionFilter<Name>>>,
): readonly Name[] {
  const input = queryValues(request)
  const wanted = Object.entries(filters).flatMap(([parameter, makeFilter]) =>
    (input[parameter] ?? '') === '' ? [] : [makeFilter(input)],
  )
  return names.filter((one) => wanted.every((isWanted) => isWanted(one)))
}
