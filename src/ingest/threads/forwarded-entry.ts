/**
 * An entry: events of one request that an edge accepted, as its log has them and as they are sent to the home
 * (`edge/README.md`, 1). Two lines: JSON of everything but the properties, then the properties of all events, one JSON
 * object after the other.
 */
import { KIB, MIB } from '../../bytes.ts'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import { DROP_REASONS } from '../notes/counters.ts'
import { LISTED_MAX } from '../notes/definition-tracker.ts'
import type { Warning } from '../notes/warnings.ts'
import { CHAIN_LENGTH_MAX } from '../pipeline/elements.ts'
import { GROUP_LENGTH_MAX, LARGE_CHANGES_LENGTH, limitChanges } from '../pipeline/person-steps.ts'
import { cutText, EVENT_TEXT_LENGTH_MAX, propertyText } from '../pipeline/text.ts'
import { type PackedEventHead, unpackHeads } from './event-packing.ts'
import type { CaptureLimits } from './messages.ts'
import type {
  ForwardedEntry,
  ForwardedOverride,
  ForwardedRest,
  PreparedEvent,
} from './prepared-request.ts'

/** The events of a request as an edge stores them; `heads` and `texts` come from `packSlice`. */
type EntryTexts = {
  readonly project_id: number
  readonly received_at: number
  /** Events without a uuid get this one plus their index. */
  readonly uuid_base: Uint8Array
  readonly heads: string
  readonly texts: string
  readonly rest: ForwardedRest | null
  readonly overrides?: readonly ForwardedOverride[]
}

/** Overrides of one entry: an edge sends those of one request, at most one per flag and person. */
const OVERRIDES_MAX = 10_000
/** No distinct id, and no key of a flag, is longer. */
const OVERRIDE_TEXT_LENGTH_MAX = 400

/** Characters of an entry: a slice of events, what they change, and the names of their request. */
const LENGTH_MAX = 6 * MIB
/**
 * Objects and lists in an entry. The data thread parses it, and 2 kB that unpack to seven million empty lists held it
 * for seconds.
 */
const CONTAINERS_MAX = 250_000
/** Shorter entries cannot have too many. */
const SMALL_LENGTH = 128 * KIB
/** First lines up to this length are parsed in a turn: each event in them may change its person. */
const SHORT_HEAD_LENGTH = 64 * KIB
/** Events of an entry: an edge cuts requests into slices of a thousand. */
const EVENTS_MAX = 10_000
/** Warnings of one event, and of a request; those beyond it are dropped. */
const EVENT_WARNINGS_MAX = 10
const REQUEST_WARNINGS_MAX = 100
/** Characters of each text of a warning; the rest is cut. */
const WARNING_TEXT_LENGTH_MAX = 2 * GROUP_LENGTH_MAX
/** Details of a warning; those beyond it are dropped. */
const WARNING_DETAILS_MAX = 10
/** Depth of the objects around the properties that an event changes. */
const HEAD_DEPTH = 6

/**
 * Whether a home refuses an entry for its size. An edge asks it before it stores one, and refuses the request: an entry
 * that the home never takes would hold up all later ones.
 */
export function isTooLarge(entry: string): boolean {
  if (entry.length > LENGTH_MAX) return true
  if (entry.length <= SMALL_LENGTH) return false
  let containers = 0
  for (let index = 0; index < entry.length; index += 1) {
    const code = entry.charCodeAt(index)
    if (code === OPENING_BRACKET || code === OPENING_BRACE) containers += 1
  }
  return containers > CONTAINERS_MAX
}

const OPENING_BRACKET = 0x5b
const OPENING_BRACE = 0x7b

/**
 * Whether parsing an entry may take more of a turn than it should: 6 MiB of short names took more than a second. It is
 * parsed on the second decode thread.
 */
export function isLong(head: string, texts: string): boolean {
  return head.length > SHORT_HEAD_LENGTH || head.length + texts.length > SMALL_LENGTH
}

/** Prints an entry without its number: two lines. */
export function printEntry(entry: EntryTexts): string {
  const { project_id, received_at, uuid_base, heads, texts, rest, overrides } = entry
  const head = `"project":${project_id},"received_at":${received_at},"uuid_base":"${uuid_base.toHex()}"`
  const more = overrides === undefined ? '' : `,"overrides":${JSON.stringify(overrides)}`
  return `{${head},"rest":${JSON.stringify(rest)}${more},"events":${heads}}\n${texts}\n`
}

/**
 * Parses an entry: the line `<seq> <JSON>` and the line of properties. Refuses (`invalid_payload`) what no edge sends:
 * its key may write events, but nothing that a query could not read again.
 */
export function readEntry(head: string, texts: string, limits: CaptureLimits): ForwardedEntry {
  const [, seq_text = '', json = ''] = /^(\d{1,15}) (\{.*)$/.exec(head) ?? []
  if (isTooLarge(json + texts)) throw refuseMalformed('an entry is too large')
  const value = parseJson(json)
  if (!isObject(value)) throw refuseMalformed('an entry has no number or is no object')
  if (!isReadable(value, limits.depth_max + HEAD_DEPTH)) throw refuseMalformed(UNREADABLE)
  const { project: project_id, received_at, uuid_base, events: heads, rest } = value
  if (!isCount(project_id) || !isCount(received_at)) {
    throw refuseMalformed('an entry has no project or no time of receipt')
  }
  const has_heads = Array.isArray(heads) && heads.length <= EVENTS_MAX && heads.every(isHead)
  if (!isHexId(uuid_base) || !has_heads) throw refuseMalformed('an entry has malformed events')
  if (!isClean(json) || !isClean(texts)) throw refuseMalformed('it has text that cannot be stored')
  const base = Uint8Array.fromHex(uuid_base)
  const unpacked = unpackHeads(heads as PackedEventHead[], texts, project_id, (index) =>
    uuidAfter(base, index),
  )
  const declared = (heads as PackedEventHead[]).reduce((sum, [, , , , length]) => sum + length, 0)
  if (declared !== texts.length) {
    throw refuseMalformed('the properties of an entry are incomplete')
  }
  for (const { update, properties_text } of unpacked) {
    const properties = requireProperties(properties_text, limits)
    // Parsed once: the person may need them.
    if (update !== null) update.automatic.properties = properties
  }
  const may_change_much = json.length > LARGE_CHANGES_LENGTH
  const events = unpacked
    .map((event) => (may_change_much ? limitEvent(event, limits) : event))
    .map((event) =>
      event.warnings.length === 0
        ? event
        : { ...event, warnings: event.warnings.slice(0, EVENT_WARNINGS_MAX).map(cutWarning) },
    )
  return {
    seq: Number(seq_text),
    project_id,
    received_at,
    events,
    rest: readRest(rest),
    overrides: readOverrides(value['overrides']),
  }
}

/** Takes changes that are too large out of an event, as edges do before they send it. */
function limitEvent(event: PreparedEvent, limits: CaptureLimits): PreparedEvent {
  const { update, group, warnings } = limitChanges(event, limits)
  return { ...event, update, group, warnings: [...warnings, ...event.warnings] }
}

/** Whether a text is an id as edges make them: 16 bytes in hexadecimal digits. */
export function isHexId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)
}

/** A uuid plus a number: the last six bytes, which are random, count. */
function uuidAfter(base: Uint8Array, index: number): Uint8Array {
  const uuid = base.slice()
  // Byte by byte: a view of the buffer costs ten times as much as the one or two bytes that change.
  let carry = index
  for (let at = 15; carry > 0 && at >= 10; at -= 1) {
    const sum = (uuid[at] ?? 0) + carry
    uuid[at] = sum % 256
    carry = Math.floor(sum / 256)
  }
  return uuid
}

function requireProperties(text: string, limits: CaptureLimits): Readonly<Record<string, unknown>> {
  if (text.length > limits.event_bytes_max) throw refuseMalformed('an event is too large')
  const value = parseJson(text)
  if (!isObject(value)) throw refuseMalformed('properties are no object')
  if (!isReadable(value, limits.depth_max)) throw refuseMalformed(UNREADABLE)
  return value
}

const UNREADABLE = 'it is nested too deeply, or has a number that is infinite'

/** Whether a value nests at most `depth_max` levels and has finite numbers only: a query could not read 1e999. */
function isReadable(value: unknown, depth_max: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth_max === 0) return false
  if (Array.isArray(value)) return value.every((item) => isReadable(item, depth_max - 1))
  const object = value as { readonly [key: string]: unknown }
  for (const key in object) if (!isReadable(object[key], depth_max - 1)) return false
  return true
}

/**
 * Whether JSON has no escape of a surrogate or NUL. The edge replaced lone ones, and prints no others as escapes; behind
 * an escaped backslash it is ordinary text.
 */
function isClean(text: string): boolean {
  if (!/\\u(?:d[89a-f]|0000)/i.test(text)) return true
  return !/(?:^|[^\\])(?:\\\\)*\\u(?:d[89a-f]|0000)/i.test(text)
}

function isHead(head: unknown): boolean {
  if (!Array.isArray(head) || head.length !== 8) return false
  const [uuid, event, distinct_id, timestamp, length, low, high, more] = head as unknown[]
  const is_named = isName(event) && isName(distinct_id)
  const has_numbers =
    Number.isSafeInteger(timestamp) && isCount(length) && isBits(low) && isBits(high)
  return (uuid === 0 || isHexId(uuid)) && is_named && has_numbers && (more === 0 || isRare(more))
}

/** An event's name or an id, which an edge has cut; a character may have two units. */
const isName = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.length <= 2 * EVENT_TEXT_LENGTH_MAX

const isGroupText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 2 * GROUP_LENGTH_MAX

function isRare(more: unknown): boolean {
  if (!isObject(more)) return false
  const { elements_chain, group, groups, is_personless, lasting_hash, merge, update, warnings } =
    more
  return (
    isMissingOr(elements_chain, isChain) &&
    isMissingOr(group, isGroupClaim) &&
    isMissingOr(groups, (value) => Array.isArray(value) && value.every(isTextPair)) &&
    isMissingOr(is_personless, (value) => typeof value === 'boolean') &&
    isMissingOr(lasting_hash, isCount) &&
    isMissingOr(merge, isMerge) &&
    isMissingOr(update, isUpdate) &&
    isMissingOr(warnings, areWarnings)
  )
}

const isChain = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= CHAIN_LENGTH_MAX

const isMissingOr = (value: unknown, check: (value: unknown) => boolean): boolean =>
  value === undefined || check(value)

function isUpdate(value: unknown): boolean {
  if (!isObject(value)) return false
  const { is_about_person, set, set_once, unset } = value
  const has_sets = isObject(set) && isObject(set_once) && typeof is_about_person === 'boolean'
  return has_sets && isTextList(unset)
}

const isTextList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((text) => typeof text === 'string')

function isMerge(value: unknown): boolean {
  if (!isObject(value)) return false
  const { other_id, is_forced, makes_other_main } = value
  return (
    (other_id === '' || isName(other_id)) &&
    typeof is_forced === 'boolean' &&
    typeof makes_other_main === 'boolean'
  )
}

function isGroupClaim(value: unknown): boolean {
  if (!isObject(value)) return false
  const { group_type, group_key, set, unset } = value
  const is_named = isGroupText(group_type) && isGroupText(group_key)
  return is_named && isObject(set) && isMissingOr(unset, isTextList)
}

function isTextPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(isGroupText)
}

function areWarnings(value: unknown): boolean {
  return Array.isArray(value) && value.every(isWarning)
}

function isWarning(value: unknown): boolean {
  if (!isObject(value)) return false
  const { type, key, details } = value
  return (
    typeof type === 'string' &&
    /^\w{1,100}$/.test(type) &&
    typeof key === 'string' &&
    isObject(details)
  )
}

/**
 * A request's rest, checked: names, warnings, and how many events were dropped for which reason. It is stored in one
 * transaction, so what no edge sends is left out: further names and warnings, unknown reasons.
 */
function readRest(value: unknown): ForwardedRest | null {
  if (value === null || value === undefined) return null
  const { dropped, names, warnings } = isObject(value) ? value : {}
  const has_names = isObject(names) && isTextList(names['events']) && isObject(names['properties'])
  const has_counts = Array.isArray(dropped) && dropped.every(isDropCount)
  if (!has_names || !has_counts || !areWarnings(warnings))
    throw refuseMalformed('an entry has a malformed rest')
  const rest = value as ForwardedRest
  const properties = Object.entries(rest.names.properties).slice(0, LISTED_MAX)
  return {
    dropped: DROP_REASONS.flatMap((reason) =>
      rest.dropped.filter(([name]) => name === reason).slice(0, 1),
    ),
    names: {
      events: rest.names.events.slice(0, LISTED_MAX),
      properties: Object.fromEntries(properties),
    },
    warnings: rest.warnings.slice(0, REQUEST_WARNINGS_MAX).map(cutWarning),
  }
}

/** A warning with short texts: it is copied to the query process. */
function cutWarning({ type, key, details }: Warning): Warning {
  const cut = Object.entries(details)
    .slice(0, WARNING_DETAILS_MAX)
    .map(([name, value]) => [cutText(name), cutDetail(value)] as const)
  return {
    type,
    key: cutText(key, WARNING_TEXT_LENGTH_MAX),
    details: Object.fromEntries(cut),
  }
}

const cutDetail = (value: unknown): string | number =>
  typeof value === 'number' ? value : cutText(propertyText(value), WARNING_TEXT_LENGTH_MAX)

function readOverrides(value: unknown): readonly ForwardedOverride[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.length <= OVERRIDES_MAX && value.every(isOverride)) return value
  throw refuseMalformed('an entry has malformed overrides')
}

function isOverride(value: unknown): value is ForwardedOverride {
  if (!Array.isArray(value) || value.length !== 3) return false
  return value.every((text) => typeof text === 'string' && text.length <= OVERRIDE_TEXT_LENGTH_MAX)
}

function isDropCount(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false
  const [reason, count] = value as unknown[]
  return typeof reason === 'string' && /^\w{1,100}$/.test(reason) && isCount(count)
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0

const isBits = (value: unknown): boolean =>
  Number.isInteger(value) && Math.abs(Number(value)) <= 2 ** 32

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refuseMalformed('not JSON')
  }
}

const refuseMalformed = (cause: string): Refusal =>
  new Refusal('invalid_payload', `Malformed batch of an edge: ${cause}.`)
