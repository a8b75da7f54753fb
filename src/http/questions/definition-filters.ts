/** What lists of definitions are narrowed and ordered by: parameters, and what each value leaves (wire §4.10). */
import { Refusal } from '../../errors.ts'
import { listOf, truthOf } from '../../insights/old-filters.ts'
import { queryValue, queryValues } from '../pages.ts'
import type { KnownEvent, KnownName, KnownProperty } from './definition-names.ts'

type Sent = Readonly<Record<string, string>>
type Wish<Name extends KnownName> = (sent: Sent) => (one: Name) => boolean

const FOR_ALL: Readonly<Record<string, Wish<KnownName>>> = {
  search: (sent) => {
    const words = (sent['search'] ?? '').toLowerCase().split(/\s+/)
    return ({ name }) => words.every((word) => name.toLowerCase().includes(word))
  },
  exclude_hidden: (sent) => {
    const is_wanted = truthOf(sent, 'exclude_hidden')
    return ({ said }) => !is_wanted || !said.hidden
  },
  verified: (sent) => {
    const wanted = truthOf(sent, 'verified')
    return ({ said }) => said.verified === wanted
  },
  tags: (sent) => {
    const wanted = new Set(listOf(sent, 'tags'))
    return ({ said }) => said.tags.some((tag) => wanted.has(tag))
  },
}

const isOwn = (name: string): boolean => !name.startsWith('$')

const FOR_EVENTS: Readonly<Record<string, Wish<KnownEvent>>> = {
  ...FOR_ALL,
  event_type: (sent) => {
    const type = sent['event_type']
    if (type === 'event_custom') return ({ name }) => isOwn(name)
    return type === 'event_posthog' ? ({ name }) => !isOwn(name) : () => true
  },
}

const FOR_PROPERTIES: Readonly<Record<string, Wish<KnownProperty>>> = {
  ...FOR_ALL,
  properties: (sent) => {
    const wanted = new Set((sent['properties'] ?? '').split(','))
    return ({ name }) => wanted.has(name)
  },
  excluded_properties: (sent) => {
    const unwanted = new Set(listOf(sent, 'excluded_properties'))
    return ({ name }) => !unwanted.has(name)
  },
  exclude_core_properties: (sent) => {
    const is_wanted = truthOf(sent, 'exclude_core_properties')
    return ({ name }) => !is_wanted || isOwn(name)
  },
  is_numerical: (sent) => {
    const wanted = truthOf(sent, 'is_numerical')
    return ({ property_type }) => (property_type === 'Numeric') === wanted
  },
  is_feature_flag: (sent) => {
    const wanted = truthOf(sent, 'is_feature_flag')
    return ({ name }) => name.startsWith('$feature/') === wanted
  },
}

/** The names of events that a request asks for, in the order it asks for. Refuses what is no list, and other orders. */
export function wantedEvents(
  request: Request,
  events: readonly KnownEvent[],
): readonly KnownEvent[] {
  const wanted = narrowed(request, events, FOR_EVENTS)
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

/** What lists of events may be ordered by besides their names. */
const TIMES: ReadonlyMap<string, 'first_seen' | 'last_seen'> = new Map([
  ['created_at', 'first_seen'],
  ['last_seen_at', 'last_seen'],
])

/** The names of properties that a request asks for. Refuses what is no list. */
export function wantedProperties(
  request: Request,
  properties: readonly KnownProperty[],
): readonly KnownProperty[] {
  return narrowed(request, properties, FOR_PROPERTIES)
}

function narrowed<Name extends KnownName>(
  request: Request,
  names: readonly Name[],
  wishes: Readonly<Record<string, Wish<Name>>>,
): readonly Name[] {
  const sent = queryValues(request)
  const wanted = Object.entries(wishes).flatMap(([parameter, wishFor]) =>
    (sent[parameter] ?? '') === '' ? [] : [wishFor(sent)],
  )
  return names.filter((one) => wanted.every((isWanted) => isWanted(one)))
}
