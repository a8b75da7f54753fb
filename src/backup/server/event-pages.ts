/** Brings events over: pages in the order of time and uuid, sent as a historical migration under their own uuids. */
import { parseUuid } from '../../uuid.ts'
import { type JSONObject, parseObject } from '../sources/source.ts'
import { addMillis, readInstant, TimeWindow } from './instants.ts'
import type { Move } from './move.ts'
import type { KeysetPosition } from './move-state.ts'
import { countReason } from './report.ts'
import { AnswerTooLarge, type QueryRow } from './server-api.ts'

/** The last part of a pass that the next one asks for again: some of its events may have become visible later. */
const OVERLAP_MS = 10 * 60 * 1000

/** The most uuids that one query here looks for. */
const UUIDS_AT_ONCE = 5000

const COLUMNS = 'toString(uuid), event, timestamp, distinct_id, properties, elements_chain'
const COLUMNS_OF_LARGE = "toString(uuid), event, timestamp, distinct_id, null, ''"

/** Properties that the server computes. */
const COMPUTED_PROPERTIES: ReadonlySet<string> = new Set(
  [0, 1, 2, 3, 4].map((index) => `$group_${index}`),
)

type SourceEvent = { readonly at: string; readonly uuid: string; readonly event: JSONObject }

/** A page, and the position after it; null at the end of the table. */
type EventPage = {
  readonly rows: readonly QueryRow[]
  readonly after: KeysetPosition | null
}

/** The events of a span of time, as far as one answer goes. */
type EventWindow = {
  readonly rows: readonly QueryRow[]
  readonly until: string
  /** The most rows that were asked for. */
  readonly limit: number
}

/** Brings over the events that were received since the last whole pass. */
export async function moveEvents(move: Move): Promise<void> {
  const pages = new EventPages(move)
  const total = await pages.count()
  // After a break, and in a later pass, events may be here that the index of uuids has forgotten.
  let is_checked = move.state.events.cursor !== null || move.state.events_since !== null
  let next = pages.read(move.state.events.cursor)
  for (;;) {
    const page = await next
    if (page.after !== null) {
      next = pages.read(page.after)
      // It is awaited in the next turn. Without this handler an earlier failure would count as unhandled.
      next.catch(() => undefined)
    }
    const events = page.rows.flatMap((row) => readEvent(move, row))
    const absent = is_checked ? await withoutPresent(move, events) : events
    await move.sendEvents(
      'events',
      absent.map(({ event }) => event),
    )
    is_checked = move.state.events_since !== null
    move.addPage('events', {
      cursor: page.after,
      read: page.rows.length,
      brought: absent.length,
    })
    if (page.after === null) break
    move.save()
    move.showRows('events', move.state.events.read, total)
  }
  move.state.events_since =
    move.state.began_at === null ? null : addMillis(move.state.began_at, -OVERLAP_MS)
}

/** The pages of the source's events. */
class EventPages {
  readonly #move: Move
  readonly #window = new TimeWindow()
  readonly #received_since: string
  readonly #values: JSONObject
  #limit: number

  constructor(move: Move) {
    this.#move = move
    this.#limit = move.page_rows
    const since = move.state.events_since
    this.#received_since = since === null ? '' : ' and created_at > toDateTime({since})'
    this.#values = since === null ? {} : { since }
  }

  /** The number of events to read in all. */
  async count(): Promise<number> {
    const where = this.#received_since === '' ? '' : ` where true${this.#received_since}`
    return this.#move.source.count(`events${where}`, this.#values)
  }

  async read(cursor: KeysetPosition | null): Promise<EventPage> {
    let [from, uuid]: KeysetPosition = cursor ?? [(await this.#findFirstTime(null)) ?? '', '']
    while (from !== '') {
      const { rows, until, limit } = await this.#readWindow(from, uuid)
      const last = rows.at(-1)
      const after = last === undefined ? null : this.#positionOf(last, [from, uuid])
      this.#window.fit(rows.length, limit)
      if (after !== null) return { rows, after }
      const next = await this.#findFirstTime(until)
      if (next === null) break
      ;[from, uuid] = [next, '']
    }
    return { rows: [], after: null }
  }

  /** The time of the first event, from an instant on. */
  async #findFirstTime(from: string | null): Promise<string | null> {
    const where = from === null ? 'true' : 'timestamp >= toDateTime({from})'
    const [row] = await this.#move.source.query(
      `select timestamp from events where ${where}${this.#received_since} order by timestamp limit 1`,
      { ...this.#values, ...(from === null ? {} : { from }) },
    )
    return row === undefined ? null : this.#move.requireSane(readInstant(row[0]), 'a timestamp')
  }

  /**
   * Reads a window of events, a shorter one where the answer is too large. An event that is too large alone comes
   * without properties.
   */
  async #readWindow(from: string, uuid: string): Promise<EventWindow> {
    for (;;) {
      const until = addMillis(from, this.#window.ms)
      const limit = this.#limit
      try {
        const rows = await this.#query(COLUMNS, { from, uuid, until })
        const most = this.#move.page_rows
        if (rows.length === limit) this.#limit = Math.min(most, limit * 2)
        return { rows, until, limit }
      } catch (error) {
        if (!(error instanceof AnswerTooLarge)) throw error
        if (error.is_slow && this.#window.shorten()) continue
        if (limit === 1) {
          const rows = await this.#query(COLUMNS_OF_LARGE, { from, uuid, until })
          return { rows, until, limit }
        }
        this.#limit = Math.ceil(limit / 4)
      }
    }
  }

  async #query(columns: string, values: JSONObject): Promise<readonly QueryRow[]> {
    return this.#move.source.query(
      `select ${columns} from events
where timestamp >= toDateTime({from}) and timestamp < toDateTime({until})
and (timestamp > toDateTime({from}) or toString(uuid) > {uuid})${this.#received_since}
order by timestamp, toString(uuid) limit ${this.#limit}`,
      { ...this.#values, ...values },
    )
  }

  /** The position of a row, which must lie after the one that the query named: or pages would never end. */
  #positionOf(row: QueryRow, [from, uuid]: KeysetPosition): KeysetPosition {
    const at = this.#move.requireSane(readInstant(row[2]), 'a timestamp')
    const row_uuid = this.#move.requireSane(typeof row[0] === 'string' ? row[0] : null, 'a uuid')
    const is_after = at > from || (at === from && row_uuid > uuid)
    return [this.#move.requireSane(is_after ? at : null, 'events in their order'), row_uuid]
  }
}

/** An event as it is sent, or nothing where the row is broken, which is counted. */
function readEvent(move: Move, row: QueryRow): readonly SourceEvent[] {
  const [uuid, event, timestamp, distinct_id, properties, chain] = row
  const leaveOut = (reason: string): readonly SourceEvent[] => {
    countReason(move.state.left_out, 'events', reason)
    return []
  }
  if (typeof uuid !== 'string' || parseUuid(uuid) === null) return leaveOut('no uuid')
  if (typeof event !== 'string' || event === '') return leaveOut('no name')
  if (typeof distinct_id !== 'string' || distinct_id === '') return leaveOut('no distinct id')
  const at = readInstant(timestamp)
  if (at === null) return leaveOut('no time that can be read')
  if (properties === null) return leaveOut('too large to be read')
  const sent = parseObject(properties)
  if (sent === null) return leaveOut('its properties are no JSON object')
  const { $ip } = sent
  const own = Object.entries(sent).filter(([name]) => !COMPUTED_PROPERTIES.has(name))
  const body = {
    ...Object.fromEntries(own),
    ...(typeof chain === 'string' && chain !== '' ? { $elements_chain: chain } : {}),
    // Without one it would get the address of this machine.
    ...($ip === undefined || $ip === null ? { $ip: '' } : {}),
  }
  return [{ at, uuid, event: { uuid, event, distinct_id, timestamp: at, properties: body } }]
}

/** Finds the events whose uuids this project lacks. */
async function withoutPresent(
  move: Move,
  events: readonly SourceEvent[],
): Promise<readonly SourceEvent[]> {
  const [from, until] = [events[0]?.at, events.at(-1)?.at]
  if (from === undefined || until === undefined) return events
  const present = new Set<unknown>()
  for (let start = 0; start < events.length; start += UUIDS_AT_ONCE) {
    const uuids = events.slice(start, start + UUIDS_AT_ONCE).map(({ uuid }) => uuid)
    const rows = await move.target.query(
      `select toString(uuid) from events where timestamp >= toDateTime({from})
and timestamp <= toDateTime({until}) and toString(uuid) in {uuids} limit ${UUIDS_AT_ONCE}`,
      { from, until, uuids },
    )
    for (const [uuid] of rows) present.add(uuid)
  }
  return events.filter(({ uuid }) => !present.has(uuid))
}
