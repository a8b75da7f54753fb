/** Stores the statuses of background queries, with their results, in cache.db. */
import type { Database, Statement } from 'bun:sqlite'
import { changeStatus, type QueryStatus, type StatusEvent, type StatusKey } from './status.ts'

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
   * Beyond `bytes_max`, ended queries are deleted with their results before they expire, in the order in which they
   * would.
   */
  constructor(db: Database, bytes_max: number) {
    this.#db = db
    this.#bytes_max = bytes_max
    this.#find = db.prepare('select status from statuses where project_id = ? and id = ?')
    this.#byte_count = this.#countBytes()
  }

  /** Finds a status; null for an unknown or expired id. */
  find(key: StatusKey, now_ms: number): QueryStatus | null {
    const row = this.#find.get(key.project_id, storedId(key))
    if (row === null) return null
    // Reading never writes, so that it works on a full disk; the next query deletes expired rows.
    return changeStatus(JSON.parse(row.status), { kind: 'expire' }, now_ms)
  }

  /** Finds the answer of a finished query, JSON as UTF-8; null when there is none. */
  findResults(key: StatusKey): Uint8Array | null {
    return (
      this.#db
        .query<{ results: Uint8Array | null }, [number, string]>(
          'select results from statuses where project_id = ? and id = ?',
        )
        .get(key.project_id, storedId(key))?.results ?? null
    )
  }

  /** Stores the status of a new query, and returns it. */
  add(status: QueryStatus): QueryStatus {
    this.#write(status, null)
    this.#deleteExpired(status.start_ms)
    this.#evict(status)
    return status
  }

  /**
   * Applies an event to a query's run, and returns the new status; null when there is none any more. Ignores a run
   * that was cancelled or replaced by another under the same id.
   */
  move(
    run: StatusKey & Pick<QueryStatus, 'task_id'>,
    event: StatusEvent,
    now_ms: number,
    results?: Uint8Array,
  ): QueryStatus | null {
    const row = this.#find.get(run.project_id, storedId(run))
    const status: QueryStatus | null = row === null ? null : JSON.parse(row.status)
    if (status === null || status.task_id !== run.task_id) return null
    const moved = changeStatus(status, event, now_ms)
    if (moved === null) this.#delete(status)
    else if (moved !== status) this.#write(moved, results ?? null)
    this.#evict(moved)
    return moved
  }

  /** Fails every query that was waiting or running when the last process ended. */
  restart(now_ms: number): void {
    const rows = this.#db
      .query<StatusRow, []>("select status from statuses where state in ('waiting', 'running')")
      .all()
    for (const row of rows) {
      const status: QueryStatus = JSON.parse(row.status)
      this.move(status, { kind: 'restart' }, now_ms)
    }
    this.#deleteExpired(now_ms)
  }

  /** Deletes the finished queries about a project, because its stored events have changed. */
  forgetAnswered(project_id: number): void {
    this.#db.run("delete from statuses where project_id = ? and state = 'finished'", [project_id])
    this.#byte_count = this.#countBytes()
  }

  /** Deletes every query about a project. */
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
      // The transaction was rolled back, so the deleted row exists again.
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
        storedId(status),
        text,
        status.state,
        status.expiration_ms,
        byte_count,
        results,
      ],
    )
  }

  #delete(status: QueryStatus): void {
    const deleted = this.#db
      .query<{ byte_count: number }, [number, string]>(
        'delete from statuses where project_id = ? and id = ? returning byte_count',
      )
      .get(status.project_id, storedId(status))
    this.#byte_count -= deleted?.byte_count ?? 0
  }

  #deleteExpired(now_ms: number): void {
    const expired = this.#db
      .query<{ byte_count: number }, [number]>(
        `delete from statuses where expiration_ms <= ? and state in ('finished', 'failed')
         returning byte_count`,
      )
      .all(now_ms)
    for (const { byte_count } of expired) this.#byte_count -= byte_count
  }

  /** Deletes ended queries beyond the limit; the newest stays, however large, because its caller has not read it yet. */
  #evict(newest: QueryStatus | null): void {
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

/** The id of a query in the table, made unique per caller. Rows of older versions have no caller. */
function storedId({
  caller,
  id,
}: Omit<StatusKey, 'caller'> & { readonly caller?: string }): string {
  return caller === undefined ? id : JSON.stringify([caller, id])
}
