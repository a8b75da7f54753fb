/** What ingestion tells its owners, read by the main thread: a project's warnings, and counts for metrics. */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { openReader } from '../../storage/sqlite/sqlite.ts'

/** Which warnings are asked for. Times are microseconds since 1970 UTC, both included; null asks for all. */
export type WarningFilter = {
  readonly project_id: number
  readonly type: string | null
  /** Text to be found in the type or the details, in any case. */
  readonly search: string | null
  readonly after: number | null
  readonly before: number | null
  readonly limit: number
  readonly offset: number
}

/** A warning as it was kept; `created_at` in microseconds since 1970 UTC. */
export type KeptWarning = {
  readonly id: number
  readonly type: string
  readonly details: Readonly<Record<string, unknown>>
  readonly created_at: number
}

/** How many events of a project something happened to since it exists. */
export type CounterRow = {
  readonly project_id: number
  readonly name: string
  readonly value: number
}

/** How far the log and its files are. */
export type LogFigures = {
  /** The last committed event. */
  readonly seq: number
  /** Events up to here are in files; up to `trimmed_seq` they have left the log. */
  readonly flushed_seq: number
  readonly trimmed_seq: number
  readonly files: number
  readonly file_bytes: number
  /** Orders to remove events that are not carried out yet. */
  readonly removals_pending: number
}

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

/** Reads events.db, which the data thread has made and writes. */
export class IngestReports {
  readonly #db: Database

  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'events.db'))
  }

  /** A page of a project's warnings, the newest first, and how many there are in all. */
  listWarnings(filter: WarningFilter): { readonly results: KeptWarning[]; readonly total: number } {
    const { project_id, type, search, after, before, limit, offset } = filter
    const asked: WarningParameters = [project_id, type, search, after, before]
    const counted = this.#db
      .query<{ total: number }, WarningParameters>(`select count(*) as total ${MATCHING}`)
      .get(...asked)
    const rows = this.#db
      .query<
        { id: number; type: string; details: string; created_at: number },
        [...WarningParameters, number, number]
      >(SELECT_WARNINGS)
      .all(...asked, limit, offset)
    const results = rows.map((row) => ({ ...row, details: JSON.parse(row.details) as object }))
    return { results: results as KeptWarning[], total: counted?.total ?? 0 }
  }

  /** Every project's counters, as they were after the last commit. */
  listCounters(): readonly CounterRow[] {
    return this.#db
      .query<CounterRow, []>(
        'select project_id, name, value from ingest_counters order by name, project_id',
      )
      .all()
  }

  /** How far the log is, as of the last commit. */
  readLog(): LogFigures {
    const figures = this.#db.query<LogFigures, []>(SELECT_LOG).get()
    if (figures === null) throw new Error('events.db has no manifest row')
    return figures
  }

  close(): void {
    this.#db.close()
  }
}
