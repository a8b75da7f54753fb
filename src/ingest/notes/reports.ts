/** Reads warnings, counters and figures of the log from events.db, on the main thread. */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { openReader } from '../../storage/sqlite/sqlite.ts'

/** A filter of warnings; null matches all. Times are µs since 1970 UTC, inclusive. */
type WarningFilter = {
  readonly project_id: number
  readonly type: string | null
  /** Text in the type or the details, case-insensitive. */
  readonly search: string | null
  readonly after: number | null
  readonly before: number | null
  readonly limit: number
  readonly offset: number
}

/** A stored warning; `created_at` in µs since 1970 UTC. */
export type StoredWarning = {
  readonly id: number
  readonly type: string
  readonly details: Readonly<Record<string, unknown>>
  readonly created_at: number
}

/** A counter of a project, since its creation. */
export type CounterRow = {
  readonly project_id: number
  readonly name: string
  readonly value: number
}

/** Figures of the log and its files. */
type LogFigures = {
  /** The last committed event. */
  readonly seq: number
  /** Events up to here are in files; up to `trimmed_seq` they have left the log. */
  readonly flushed_seq: number
  readonly trimmed_seq: number
  readonly files: number
  readonly file_bytes: number
  /** Pending removals of events. */
  readonly removals_pending: number
}

/** The newest events of a project in a part of the log: those after one number, up to another. */
type NewestFilter = {
  readonly project_id: number
  /** Null for every event name. */
  readonly event: string | null
  readonly after_seq: number
  readonly up_to_seq: number
  readonly limit: number
}

/** An event of the log; `timestamp` in µs since 1970 UTC, `properties` as JSON. */
export type LoggedEvent = {
  readonly seq: number
  readonly uuid: Uint8Array
  readonly event: string
  readonly distinct_id: string
  readonly person_id: Uint8Array
  readonly timestamp: number
  /** Null where they are longer than `PROPERTIES_CHARS_MAX`. */
  readonly properties: string | null
  readonly elements_chain: string
}

const PROPERTIES_CHARS_MAX = 64 * 1024

const selectNewest = (condition: string): string => `
select seq, uuid, event, distinct_id, person_id, timestamp, elements_chain,
  case when length(properties) <= ${PROPERTIES_CHARS_MAX} then properties end as properties
from events
where seq > ?1 and seq <= ?2 and project_id = ?3 ${condition}
order by seq desc
limit ?4`

const SELECT_NEWEST = selectNewest('')
const SELECT_NEWEST_NAMED = selectNewest('and event = ?5')

const MATCHING = `
from ingestion_warnings
where project_id = ?1
  and (?2 is null or type = ?2)
  and (?3 is null or instr(lower(type || ' ' || details), lower(?3)) > 0)
  and (?4 is null or created_at >= ?4)
  and (?5 is null or created_at <= ?5)`

const SELECT_WARNINGS = `
select id, type, details, created_at
${MATCHING}
order by created_at desc, id desc
limit ?6 offset ?7`

const SELECT_LOG = `
select
  (select seq from clock where id = 1) as seq,
  flushed_seq,
  trimmed_seq,
  (select count(*) from files) as files,
  (select coalesce(sum(byte_count), 0) from files) as file_bytes,
  (select count(*) from event_removals) as removals_pending
from manifest
where id = 1`

type WarningParameters = [number, string | null, string | null, number | null, number | null]

/** An edge as it reported itself last (JSON); `seen_at` in µs since 1970 UTC. */
type EdgeReportRow = {
  readonly edge: string
  readonly report: string
  readonly seen_at: number
}

/** Edges that did not report for longer are not listed. */
const EDGE_SILENT_US = 90 * 86_400 * 1_000_000
/** The most edges listed, the latest first. */
const EDGES_MAX = 1000

/** A read-only connection to events.db, which the data thread writes. */
export class IngestReports {
  readonly #db: Database

  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'events.db'))
  }

  /** A page of a project's warnings, the newest first, with the total number that match. */
  listWarnings(filter: WarningFilter): {
    readonly results: StoredWarning[]
    readonly total: number
  } {
    const { project_id, type, search, after, before, limit, offset } = filter
    const parameters: WarningParameters = [project_id, type, search, after, before]
    const count = this.#db
      .query<{ total: number }, WarningParameters>(`select count(*) as total ${MATCHING}`)
      .get(...parameters)
    const rows = this.#db
      .query<
        { id: number; type: string; details: string; created_at: number },
        [...WarningParameters, number, number]
      >(SELECT_WARNINGS)
      .all(...parameters, limit, offset)
    const results = rows.map((row) => ({ ...row, details: JSON.parse(row.details) as object }))
    return { results: results as StoredWarning[], total: count?.total ?? 0 }
  }

  /** The counters of all projects after the last commit. */
  listCounters(): readonly CounterRow[] {
    return this.#db
      .query<CounterRow, []>(
        'select project_id, name, value from ingest_counters order by name, project_id',
      )
      .all()
  }

  /** The figures of the log after the last commit. */
  readLog(): LogFigures {
    const figures = this.#db.query<LogFigures, []>(SELECT_LOG).get()
    if (figures === null) throw new Error('events.db has no manifest row')
    return figures
  }

  /** The edges that reported in the last 90 days, the latest first. */
  listEdges(now: Date): readonly EdgeReportRow[] {
    return this.#db
      .query<EdgeReportRow, [number]>(
        `select edge, report, seen_at from edge_reports where seen_at > ? order by seen_at desc limit ${EDGES_MAX}`,
      )
      .all(now.getTime() * 1000 - EDGE_SILENT_US)
  }

  /** The number of the last committed event of all projects. */
  readSeq(): number {
    const clock = this.#db.query<{ seq: number }, []>('select seq from clock where id = 1').get()
    if (clock === null) throw new Error('events.db has no clock')
    return clock.seq
  }

  /** A project's newest events in a part of the log, the newest first. Reads every row of that part at most once. */
  listNewest(filter: NewestFilter): readonly LoggedEvent[] {
    const { project_id, event, after_seq, up_to_seq, limit } = filter
    const part = [after_seq, up_to_seq, project_id, limit] as const
    return event === null
      ? this.#db.query<LoggedEvent, [...typeof part]>(SELECT_NEWEST).all(...part)
      : this.#db
          .query<LoggedEvent, [...typeof part, string]>(SELECT_NEWEST_NAMED)
          .all(...part, event)
  }

  close(): void {
    this.#db.close()
  }
}
