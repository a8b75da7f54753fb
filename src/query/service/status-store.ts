/** Keeps the statuses of background queries, with their results, in cache.db. */
import type { Database, Statement } from 'bun:sqlite'
import { moveStatus, type QueryStatus, type StatusEvent, type StatusKey } from './status.ts'

type StatusRow = { readonly status: string }

type StoredStatus = {
  readonly text: string
  readonly byte_count: number
  readonly results: Uint8Array | null
}

export class StatusStore {
  readonly #db: Database
  readonly #bytes_max: number
  readonly #find: Statement<StatusRow, [number, string]>
  #byte_count: number

  /**
   * Beyond `bytes_max` ended queries are forgotten before their time with their results, those that expire first
   * first.
   */
  constructor(db: Database, bytes_max: number) {
    this.#db = db
    this.#bytes_max = bytes_max
    this.#find = db.prepare('select status from statuses where project_id = ? and id = ?')
    this.#byte_count = this.#countBytes()
  }

  /** Null for an id nobody asked under, or one that is gone. */
  find(key: StatusKey, now_ms: number): QueryStatus | null {
    const row = this.#find.get(key.project_id, keptId(key))
    if (row === null) return null
    // Looking changes nothing, also on a disk that is full: the next query sweeps.
    return moveStatus(JSON.parse(row.status), { kind: 'expire' }, now_ms)
  }

  /** The answer of a finished query, JSON as UTF-8; null when there is none. */
  findResults(key: StatusKey): Uint8Array | null {
    return (
      this.#db
        .query<{ results: Uint8Array | null }, [number, string]>(
          'select results from statuses where project_id = ? and id = ?',
        )
        .get(key.project_id, keptId(key))?.results ?? null
    )
  }

  /** Keeps the status of a query that was just asked, and answers it. */
  add(status: QueryStatus): QueryStatus {
    this.#write(status, null)
    this.#sweep(status.start_ms)
    this.#limit(status)
    return status
  }

  /**
   * Lets something happen to a query's run, and answers its status then; null when it is gone. A run that another
   * one under the same id has replaced, or that was cancelled, is left alone.
   */
  move(
    run: StatusKey & Pick<QueryStatus, 'task_id'>,
    event: StatusEvent,
    now_ms: number,
    results?: Uint8Array,
  ): QueryStatus | null {
    const row = this.#find.get(run.project_id, keptId(run))
    const status: QueryStatus | null = row === null ? null : JSON.parse(row.status)
    if (status === null || status.task_id !== run.task_id) return null
    const moved = moveStatus(status, event, now_ms)
    if (moved === null) this.#delete(status)
    else if (moved !== status) this.#write(moved, results ?? null)
    this.#limit(moved)
    return moved
  }

  /** Tells every query that was under way when the last process ended that it was interrupted. */
  restart(now_ms: number): void {
    const rows = this.#db
      .query<StatusRow, []>("select status from statuses where state in ('waiting', 'running')")
      .all()
    for (const row of rows) {
      const status: QueryStatus = JSON.parse(row.status)
      this.move(status, { kind: 'restart' }, now_ms)
    }
    this.#sweep(now_ms)
  }

  /** Forgets the queries about a project that are answered: its past has changed. */
  forgetAnswered(project_id: number): void {
    this.#db.run("delete from statuses where project_id = ? and state = 'finished'", [project_id])
    this.#byte_count = this.#countBytes()
  }

  /** Forgets every query about a project. */
  dropProject(project_id: number): void {
    this.#db.run('delete from statuses where project_id = ?', [project_id])
    this.#byte_count = this.#countBytes()
  }

  #write(status: QueryStatus, results: Uint8Array | null): void {
    const text = JSON.stringify(status)
    const byte_count = text.length + (results?.length ?? 0)
    const before = this.#byte_count
    try {
      this.#db.transaction(() => {
        this.#delete(status)
        this.#insert(status, { text, byte_count, results })
      })()
    } catch (error) {
      // What was counted off is there again.
      this.#byte_count = before
      throw error
    }
    this.#byte_count += byte_count
  }

  #insert(status: QueryStatus, { text, byte_count, results }: StoredStatus): void {
    this.#db.run(
      `insert into statuses (project_id, id, status, state, expiration_ms, byte_count, results)
       values (?, ?, ?, ?, ?, ?, ?)`,
      [
        status.project_id,
        keptId(status),
        text,
        status.state,
        status.expiration_ms,
        byte_count,
        results,
      ],
    )
  }

  #delete(status: QueryStatus): void {
    const gone = this.#db
      .query<{ byte_count: number }, [number, string]>(
        'delete from statuses where project_id = ? and id = ? returning byte_count',
      )
      .get(status.project_id, keptId(status))
    this.#byte_count -= gone?.byte_count ?? 0
  }

  #sweep(now_ms: number): void {
    const gone = this.#db
      .query<{ byte_count: number }, [number]>(
        `delete from statuses where expiration_ms <= ? and state in ('finished', 'failed')
         returning byte_count`,
      )
      .all(now_ms)
    for (const { byte_count } of gone) this.#byte_count -= byte_count
  }

  /** The newest one stays, however large: its caller has not had it yet. */
  #limit(newest: QueryStatus | null): void {
    while (this.#byte_count > this.#bytes_max) {
      const oldest = this.#db
        .query<StatusRow, [string]>(
          `select status from statuses
           where state in ('finished', 'failed') and json_extract(status, '$.task_id') <> ?
           order by expiration_ms limit 1`,
        )
        .get(newest?.task_id ?? '')
      if (oldest === null) return
      this.#delete(JSON.parse(oldest.status))
    }
  }

  #countBytes(): number {
    const sum = this.#db.query('select coalesce(sum(byte_count), 0) from statuses').values()[0]
    return Number(sum?.[0])
  }
}

/** The id of a query in the table, where ids of all callers stand. Those that an older server wrote have no caller. */
function keptId({ caller, id }: Omit<StatusKey, 'caller'> & { readonly caller?: string }): string {
  return caller === undefined ? id : JSON.stringify([caller, id])
}
