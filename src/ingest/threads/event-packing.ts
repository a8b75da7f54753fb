/** Prepared requests as text, on their way from the prepare thread to the data thread. */
import type { PersonUpdate } from '../../identity/person.ts'
import type { SliceTexts } from '../../storage/log/request-journal.ts'
import type { PreparedEvent, PreparedRequest } from './batch.ts'

/**
 * A slice of a request's events. Two long texts cross from thread to thread many times faster than an object
 * for each event, and the properties need not be parsed on the other side.
 */
export type PackedSlice = {
  readonly id: number
  /** Of events. */
  readonly count: number
  /** JSON of a list of heads. */
  readonly heads: string
  /** The properties of all events, one after the other. */
  readonly texts: string
  /** The request without its events, as JSON; '' when further slices follow. */
  readonly request: string
}

type PackedRequestRest = Omit<PreparedRequest, 'events'>

/** The common members of an event, and those that most events lack. */
type PackedEventHead = readonly [
  uuid: string | 0,
  event: string,
  distinct_id: string,
  timestamp: number,
  text_length: number,
  told_low: number,
  told_high: number,
  more: PackedEventMore | 0,
]

type PackedEventMore = Partial<
  Pick<
    PreparedEvent,
    'elements_chain' | 'group' | 'groups' | 'is_personless' | 'merge' | 'warnings'
  >
> & { readonly update?: Pick<PersonUpdate, 'is_about_person' | 'set' | 'set_once' | 'unset'> }

/** Packs events of a request; `rest` with the last of them. */
export function packSlice(
  id: number,
  events: readonly PreparedEvent[],
  rest: PackedRequestRest | null,
): PackedSlice {
  return {
    id,
    count: events.length,
    heads: JSON.stringify(events.map(headOf)),
    texts: events.map((event) => event.properties_text).join(''),
    request: rest === null ? '' : JSON.stringify(rest),
  }
}

/** The events of a slice. */
export function unpackEvents(slice: SliceTexts, project_id: number): readonly PreparedEvent[] {
  let start = 0
  return (JSON.parse(slice.heads) as PackedEventHead[]).map((head) => {
    const text = slice.texts.slice(start, start + head[4])
    start += head[4]
    return eventOf(head, text, project_id)
  })
}

/** A part of a request that is to be applied later. */
export function packEvents(events: readonly PreparedEvent[]): SliceTexts {
  const { heads, texts } = packSlice(0, events, null)
  return { heads, texts }
}

/** The request that a last slice completes. */
export function unpackRest(request: string): PackedRequestRest {
  return JSON.parse(request) as PackedRequestRest
}

function headOf(event: PreparedEvent): PackedEventHead {
  return [
    event.uuid?.toHex() ?? 0,
    event.event,
    event.distinct_id,
    event.timestamp,
    event.properties_text.length,
    event.update?.told.low ?? 0,
    event.update?.told.high ?? 0,
    moreOf(event),
  ]
}

function moreOf(event: PreparedEvent): PackedEventMore | 0 {
  const more: { -readonly [name in keyof PackedEventMore]: PackedEventMore[name] } = {}
  let is_empty = true
  if (event.elements_chain !== '') more.elements_chain = event.elements_chain
  if (event.is_personless) more.is_personless = true
  if (event.merge !== null) more.merge = event.merge
  if (event.groups.length > 0) more.groups = event.groups
  if (event.group !== null) more.group = event.group
  if (event.warnings.length > 0) more.warnings = event.warnings
  if (event.update !== null && !isOnlyTold(event.update)) {
    const { is_about_person, set, set_once, unset } = event.update
    more.update = { is_about_person, set, set_once, unset }
  }
  for (const _ in more) is_empty = false
  return is_empty ? 0 : more
}

function isOnlyTold(update: PersonUpdate): boolean {
  if (update.is_about_person || update.unset.length > 0) return false
  for (const _ in update.set) return false
  for (const _ in update.set_once) return false
  return true
}

const NOTHING: readonly never[] = []
const ONLY_TOLD = { is_about_person: false, set: {}, set_once: {}, unset: NOTHING }

function eventOf(head: PackedEventHead, text: string, project_id: number): PreparedEvent {
  const [uuid, event, distinct_id, timestamp, , low, high, some] = head
  const more = some === 0 ? null : some
  const told = { low, high, properties: null, text }
  const has_update = low !== 0 || high !== 0 || more?.update !== undefined
  return {
    uuid: uuid === 0 ? null : Uint8Array.fromHex(uuid),
    event,
    distinct_id,
    id_key: `${project_id}:${distinct_id}`,
    timestamp,
    properties_text: text,
    elements_chain: more?.elements_chain ?? '',
    is_personless: more?.is_personless ?? false,
    update: has_update ? { ...(more?.update ?? ONLY_TOLD), told } : null,
    merge: more?.merge ?? null,
    groups: more?.groups ?? NOTHING,
    group: more?.group ?? null,
    warnings: more?.warnings ?? NOTHING,
  }
}
