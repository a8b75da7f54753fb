/** Serializes decoded requests as text: from the decode thread to the data thread, and into the journal. */
import { KIB } from '../../bytes.ts'
import { pickAutomatic } from '../../identity/automatic-properties.ts'
import type { PersonUpdate } from '../../identity/person.ts'
import type { SliceTexts } from '../../storage/log/request-journal.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'
import type { PreparedEvent, PreparedRequest } from './prepared-request.ts'

/**
 * A slice of a request's events. Two long texts are copied between threads many times faster than one object
 * per event, and the receiver need not parse the properties.
 */
export type PackedSlice = {
  readonly id: number
  /** Number of events. */
  readonly count: number
  /** JSON of a list of heads. */
  readonly heads: string
  /** The properties of all events, concatenated. */
  readonly texts: string
  /** The request without its events, as JSON; '' unless this is its last slice. */
  readonly request: string
}

/**
 * Characters of heads that are unpacked and applied in one turn; what events change may be longer. 640 KiB of it took 20
 * ms to parse and 25 to apply.
 */
export const HEADS_PER_TURN_MAX = 128 * KIB

/** Events as texts, and their number. */
export type PackedEvents = SliceTexts & { readonly count: number }

/** A request without its events. */
export type PackedRequestRest = Omit<PreparedRequest, 'events'>

/**
 * An event without its properties: the members that every event has by position, which keeps a request of thousands of
 * events short, and an object of those that most events lack. `marks_*` are the automatic properties of its update.
 */
export type PackedEventHead = readonly [
  uuid: string | 0,
  event: string,
  distinct_id: string,
  timestamp: number,
  text_length: number,
  marks_low: number,
  marks_high: number,
  more: RareEventMembers | 0,
]

type RareEventMembers = Partial<
  Pick<
    PreparedEvent,
    'elements_chain' | 'group' | 'groups' | 'is_personless' | 'merge' | 'warnings'
  >
> & {
  readonly update?: Pick<PersonUpdate, 'is_about_person' | 'set' | 'set_once' | 'unset'>
  /** The automatic properties of an event with many others: the receiver need not parse those. */
  readonly automatic?: PersonProperties
  /** Of the automatic properties; missing without lasting ones, and in events that an older version packed. */
  readonly lasting_hash?: number
}

/** Properties as JSON beyond this length are not parsed for the automatic ones among them: a megabyte took 40 ms. */
const LONG_TEXT_LENGTH = 16 * KIB

/** Packs events of a request. `rest` comes with its last slice. */
export function packSlice(
  id: number,
  events: readonly PreparedEvent[],
  rest: PackedRequestRest | null,
): PackedSlice {
  return {
    id,
    count: events.length,
    heads: JSON.stringify(events.map(packHead)),
    texts: events.map((event) => event.properties_text).join(''),
    request: rest === null ? '' : JSON.stringify(rest),
  }
}

/** Packs events in slices of as many characters as are unpacked in one turn; a longer event has one alone. */
export function packInSlices(events: readonly PreparedEvent[]): readonly PackedEvents[] {
  const slices: PackedEvents[] = []
  let heads: string[] = []
  let texts: string[] = []
  let length = 0
  const close = (): void => {
    if (heads.length === 0) return
    slices.push({ heads: `[${heads.join(',')}]`, texts: texts.join(''), count: heads.length })
    heads = []
    texts = []
    length = 0
  }
  for (const event of events) {
    const head = JSON.stringify(packHead(event))
    if (length + head.length > HEADS_PER_TURN_MAX) close()
    heads.push(head)
    texts.push(event.properties_text)
    length += head.length
  }
  close()
  return slices
}

/** The events of a slice. */
export function unpackEvents(slice: SliceTexts, project_id: number): readonly PreparedEvent[] {
  return unpackHeads(JSON.parse(slice.heads) as PackedEventHead[], slice.texts, project_id)
}

/** The events of a slice whose heads are parsed; `makeUuid` makes those that are missing, by the event's index. */
export function unpackHeads(
  heads: readonly PackedEventHead[],
  texts: string,
  project_id: number,
  makeUuid: (index: number) => Uint8Array | null = makeNone,
): readonly PreparedEvent[] {
  let start = 0
  return heads.map((head, index) => {
    const [hex, , , , text_length] = head
    const text = texts.slice(start, start + text_length)
    start += text_length
    const uuid = hex === 0 ? makeUuid(index) : Uint8Array.fromHex(hex)
    return unpackEvent(head, { uuid, text, project_id })
  })
}

const makeNone = (): null => null

/** Packs events for the journal, from which they are applied later. */
export function packEvents(events: readonly PreparedEvent[]): SliceTexts {
  const { heads, texts } = packSlice(0, events, null)
  return { heads, texts }
}

/** Parses the `request` of a last slice. */
export function unpackRest(request: string): PackedRequestRest {
  return JSON.parse(request) as PackedRequestRest
}

function packHead(event: PreparedEvent): PackedEventHead {
  return [
    event.uuid?.toHex() ?? 0,
    event.event,
    event.distinct_id,
    event.timestamp,
    event.properties_text.length,
    event.update?.automatic.low ?? 0,
    event.update?.automatic.high ?? 0,
    packRareMembers(event),
  ]
}

function packRareMembers(event: PreparedEvent): RareEventMembers | 0 {
  const more: { -readonly [name in keyof RareEventMembers]: RareEventMembers[name] } = {}
  let is_empty = true
  if (event.elements_chain !== '') more.elements_chain = event.elements_chain
  if (event.is_personless) more.is_personless = true
  if (event.merge !== null) more.merge = event.merge
  if (event.groups.length > 0) more.groups = event.groups
  if (event.group !== null) more.group = event.group
  if (event.warnings.length > 0) more.warnings = event.warnings
  if (event.update !== null && !isOnlyAutomatic(event.update)) {
    const { is_about_person, set, set_once, unset } = event.update
    more.update = { is_about_person, set, set_once, unset }
  }
  if (event.update !== null && event.properties_text.length > LONG_TEXT_LENGTH) {
    const { properties } = event.update.automatic
    if (properties !== null) more.automatic = pickAutomatic(properties)
  }
  const lasting_hash = event.update?.automatic.lasting_hash ?? 0
  if (lasting_hash !== 0) more.lasting_hash = lasting_hash
  for (const _ in more) is_empty = false
  return is_empty ? 0 : more
}

function isOnlyAutomatic(update: PersonUpdate): boolean {
  if (update.is_about_person || update.unset.length > 0) return false
  for (const _ in update.set) return false
  for (const _ in update.set_once) return false
  return true
}

/** The members of an event that come from elsewhere than its head. */
type UnpackedMembers = {
  readonly uuid: Uint8Array | null
  readonly text: string
  readonly project_id: number
}

const NOTHING: readonly never[] = []
const ONLY_AUTOMATIC = { is_about_person: false, set: {}, set_once: {}, unset: NOTHING }

function unpackEvent(
  [, event, distinct_id, timestamp, , low, high, rare]: PackedEventHead,
  { uuid, text, project_id }: UnpackedMembers,
): PreparedEvent {
  const more = rare === 0 ? null : rare
  const lasting_hash = more?.lasting_hash ?? 0
  const automatic = { low, high, lasting_hash, properties: more?.automatic ?? null, text }
  const has_update = low !== 0 || high !== 0 || more?.update !== undefined
  return {
    uuid,
    event,
    distinct_id,
    id_key: `${project_id}:${distinct_id}`,
    timestamp,
    properties_text: text,
    elements_chain: more?.elements_chain ?? '',
    is_personless: more?.is_personless ?? false,
    update: has_update ? { ...(more?.update ?? ONLY_AUTOMATIC), automatic } : null,
    merge: more?.merge ?? null,
    groups: more?.groups ?? NOTHING,
    group: more?.group ?? null,
    warnings: more?.warnings ?? NOTHING,
  }
}
