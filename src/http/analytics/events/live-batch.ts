/** Reads the newest events of a project for live lists: a bounded part of the log, a bounded number, a bounded size. */
import type { LoggedEvent } from '../../../ingest/notes/reports.ts'
import { formatUuid } from '../../../uuid.ts'
import type { AppContext } from '../../app-context.ts'

/** The filter of a live list. Readers with the same one share one read. */
export type LiveFilter = {
  readonly project_id: number
  readonly event: string | null
  /** Without the right to read persons there are none. */
  readonly has_persons: boolean
  /** Decides about further conditions; null without them. */
  readonly findMatches: FindMatches | null
}

/** Finds those of some events that further conditions leave, by their ids. */
export type FindMatches = (events: readonly LoggedEvent[]) => Promise<ReadonlySet<string>>

/** The newest events after a position. `json` is a whole answer, as `LiveEvents` in the contract describes it. */
export type LiveBatch = {
  readonly seq: number
  readonly event_count: number
  readonly missed: number
  readonly json: string
}

/** Events of one message. */
const EVENTS_MAX = 50
/** Rows of the log that one read goes through at most: 5 ms where none of them matches. */
export const LIVE_ROWS_MAX = 4000
/** Events that one query about further conditions names. */
const CANDIDATES_MAX = 500
const BYTES_MAX = 512 * 1024

type LiveContext = Pick<AppContext, 'ingest' | 'persons'>

/**
 * Reads the events after a position. Where there are more than a list can show, it has the newest ones and says about
 * how many it has not. Further conditions are left out.
 */
export function readLiveBatch(
  app: LiveContext,
  filter: LiveFilter,
  after_seq: number | null,
): LiveBatch {
  const read = readNewest(app, filter, { after_seq, limit: EVENTS_MAX })
  return batchOf(app, filter, read)
}

/** Reads like `readLiveBatch`, with further conditions: a query decides, so that this list and every other agree. */
export async function readMatchingBatch(
  app: LiveContext,
  filter: LiveFilter,
  after_seq: number | null,
): Promise<LiveBatch> {
  const { findMatches } = filter
  if (findMatches === null) return readLiveBatch(app, filter, after_seq)
  const read = readNewest(app, filter, { after_seq, limit: CANDIDATES_MAX })
  const matches = await findMatches(read.events)
  const events = read.events.filter(({ uuid }) => matches.has(formatUuid(uuid)))
  return batchOf(app, filter, { ...read, events })
}

/** The newest events of a part of the log. */
type NewestEvents = {
  readonly seq: number
  readonly events: readonly LoggedEvent[]
  /** Positions that were asked for, and how many of them, the newest ones, were read. */
  readonly range: number
  readonly covered: number
}

function readNewest(
  { ingest }: LiveContext,
  { project_id, event }: LiveFilter,
  { after_seq, limit }: { readonly after_seq: number | null; readonly limit: number },
): NewestEvents {
  const seq = ingest.readSeq()
  const floor = Math.max(0, seq - LIVE_ROWS_MAX)
  // After a restored backup a position may lie beyond the end.
  const start = after_seq === null || after_seq > seq ? floor : after_seq
  const from = Math.max(start, floor)
  const events = ingest.listNewest({ project_id, event, after_seq: from, up_to_seq: seq, limit })
  const last = events[limit - 1]
  const covered = seq - (last === undefined ? from : last.seq - 1)
  return { seq, events, range: seq - start, covered }
}

function batchOf(app: LiveContext, filter: LiveFilter, read: NewestEvents): LiveBatch {
  const { seq, events, range, covered } = read
  const nameActor = personReader(app, filter)
  const texts: string[] = []
  let bytes = 0
  for (const event of events.slice(0, EVENTS_MAX)) {
    const text = serializeEvent(event, nameActor(event))
    bytes += text.length
    if (bytes > BYTES_MAX && texts.length > 0) break
    texts.push(text)
  }
  // In the positions that were not read there are as many in proportion.
  const total = range === covered ? events.length : Math.round((events.length * range) / covered)
  const missed = total - texts.length
  const json = `{"events":[${texts.join(',')}],"missed":${missed},"last_id":"${seq}"}`
  return { seq, event_count: texts.length, missed, json }
}

type PersonJson = { readonly properties: unknown } | null

/** Returns a lookup of the persons of events, each read once. */
function personReader(
  { persons }: LiveContext,
  { project_id, has_persons }: LiveFilter,
): (event: LoggedEvent) => PersonJson {
  const known = new Map<string, PersonJson>()
  return ({ distinct_id }) => {
    if (!has_persons) return null
    const before = known.get(distinct_id)
    if (before !== undefined) return before
    const person = persons.findPerson(project_id, distinct_id)
    const shown = person && { properties: person.properties }
    known.set(distinct_id, shown)
    return shown
  }
}

/** Properties are JSON already; line breaks between its tokens would end a message. */
function serializeEvent(row: LoggedEvent, person: PersonJson): string {
  const { uuid, event, distinct_id, timestamp, properties } = row
  const head = JSON.stringify({
    id: formatUuid(uuid),
    event,
    distinct_id,
    timestamp: new Date(timestamp / 1000).toISOString(),
    is_cut: properties === null,
    person,
  })
  return `${head.slice(0, -1)},"properties":${(properties ?? '{}').replace(/[\r\n]+/g, ' ')}}`
}
