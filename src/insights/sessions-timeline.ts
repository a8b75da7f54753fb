/** SessionsTimelineQuery: one person's events by session; events without a session id are split at pauses. */
import type { SessionsTimelineQuery } from '../contract/insights/events.ts'
import { and, compare, field } from '../hogql/syntax/nodes.ts'
import { select } from '../hogql/template.ts'
import { boundsOf, ofPerson } from './events-query.ts'
import { instant } from './filters/filter-operators.ts'
import type { InsightKind } from './insight.ts'
import { queryPage } from './page.ts'

/** Maximum events of an answer; the newest are kept. */
const EVENTS_MAX = 1000

/** Half an hour without events ends a session without an id. */
const PAUSE_MS = 30 * 60_000

const COLUMNS = [
  'uuid',
  'timestamp',
  'event',
  'properties',
  'distinct_id',
  'elements_chain',
  '$session_id',
] as const

/** One session: its events, the newest first. */
export type TimelineEntry = {
  /** Null where the events have none. */
  readonly sessionId: string | null
  readonly events: readonly TimelineEvent[]
}

type TimelineEvent = {
  readonly id: string
  readonly timestamp: string
  readonly event: string
  readonly properties: unknown
  readonly distinct_id: string
  readonly elements_chain: string
}

export const SESSIONS_TIMELINE_QUERY: InsightKind<SessionsTimelineQuery> = {
  rangeOf: (query, dates) => {
    boundsOf(query, dates)
    return { interval: 'minute', ends_at_ms: null }
  },
  answer: async (query, context, run) => {
    const { after_us, before_us } = boundsOf(query, context)
    const time = field(['timestamp'])
    const tree = {
      ...select`
        select ${COLUMNS.map((name) => field([name]))} from events
        order by timestamp desc, uuid desc`,
      where: and([
        ...(query.personId ? [ofPerson(query.personId)] : []),
        ...(after_us === null ? [] : [compare(time, '>', instant(after_us))]),
        compare(time, '<', instant(before_us)),
      ]),
    }
    const { rows_max } = context
    const page = { limit: Math.min(EVENTS_MAX, rows_max), offset: 0 }
    const page_rows = await queryPage(tree, page, { run, rows_max })
    const results = timelineOf(page_rows.rows.map(readRow))
    return { results, hogql: page_rows.hogql, metadata: { hasMore: page_rows.has_more } }
  },
}

type TimelineRow = { readonly session: string; readonly event: TimelineEvent }

function readRow(row: readonly unknown[]): TimelineRow {
  const [id, timestamp, event, properties, distinct_id, elements_chain, session] = row.map(String)
  return {
    session: session ?? '',
    event: {
      id: id ?? '',
      timestamp: timestamp ?? '',
      event: event ?? '',
      properties: JSON.parse(properties ?? '{}'),
      distinct_id: distinct_id ?? '',
      elements_chain: elements_chain ?? '',
    },
  }
}

/** Groups events, the newest first, to sessions ordered by their beginnings, the newest first. */
function timelineOf(newest_first: readonly TimelineRow[]): readonly TimelineEntry[] {
  const entries = new Map<string, { sessionId: string | null; events: TimelineEvent[] }>()
  let unnamed = { key: '', ended_ms: Number.NEGATIVE_INFINITY }
  for (const { session, event } of newest_first.toReversed()) {
    const at_ms = Date.parse(event.timestamp)
    if (session === '') {
      const is_paused = at_ms - unnamed.ended_ms >= PAUSE_MS
      // A key that no session id can equal: a NUL and the first event's id.
      unnamed = { key: is_paused ? `\u0000${event.id}` : unnamed.key, ended_ms: at_ms }
    }
    const key = session === '' ? unnamed.key : session
    const entry = entries.get(key) ?? { sessionId: session || null, events: [] }
    entries.set(key, entry)
    entry.events.unshift(event)
  }
  return [...entries.values()].toReversed()
}
