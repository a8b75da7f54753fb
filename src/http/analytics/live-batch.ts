/** Reads the newest events of a project for live lists: a bounded part of the log, a bounded number, a bounded size. */
import type { LoggedEvent } from '../../ingest/notes/reports.ts'
import { formatUuid } from '../../uuid.ts'
import type { AppContext } from '../app-context.ts'

/** What a live list shows. Readers with the same one share one read. */
export type LiveFilter = {
  readonly project_id: number
  readonly event: string | null
  /** Without the right to read persons there are none. */
  readonly has_persons: boolean
}

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
const ROWS_MAX = 4000
const BYTES_MAX = 512 * 1024

/**
 * Reads the events after a position. Where there are more than a list can show, it has the newest ones and says about
 * how many it has not.
 */
export function readLiveBatch(
  app: Pick<AppContext, 'ingest' | 'persons'>,
  filter: LiveFilter,
  after_seq: number | null,
): LiveBatch {
  const seq = app.ingest.readSeq()
  const floor = Math.max(0, seq - ROWS_MAX)
  // After a restored backup a position may lie beyond the end.
  const start = after_seq === null || after_seq > seq ? floor : after_seq
  const found = app.ingest.listNewest({
    project_id: filter.project_id,
    event: filter.event,
    after_seq: Math.max(start, floor),
    up_to_seq: seq,
    limit: EVENTS_MAX,
  })
  const nameActor = personReader(app, filter)
  const texts: string[] = []
  let bytes = 0
  for (const event of found) {
    const text = serializeEvent(event, nameActor(event))
    bytes += text.length
    if (bytes > BYTES_MAX && texts.length > 0) break
    texts.push(text)
  }
  const last = found[texts.length - 1]
  const is_whole = start >= floor && found.length < EVENTS_MAX && texts.length === found.length
  const missed =
    is_whole || last === undefined
      ? 0
      : estimateMissed(texts.length, seq - last.seq + 1, seq - start)
  const json = `{"events":[${texts.join(',')}],"missed":${missed},"last_id":"${seq}"}`
  return { seq, event_count: texts.length, missed, json }
}

/** The shown events are `shown` of the last `covered` in the log; of all `range` there are as many in proportion. */
const estimateMissed = (shown: number, covered: number, range: number): number =>
  Math.max(0, Math.round((shown * range) / covered) - shown)

type PersonJson = { readonly properties: unknown } | null

/** Returns a lookup of the persons of events, each read once. */
function personReader(
  { persons }: Pick<AppContext, 'persons'>,
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
