/** The answer cache: an LRU in cache.db by cache key, which survives restarts. */
import { Database, type Statement } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ClockCache } from '../../storage/clock-cache.ts'
import { CACHE_MIGRATIONS } from '../../storage/sqlite/sql-files.ts'
import { migrate } from '../../storage/sqlite/sqlite.ts'
import type { AnswerTimes } from './refresh.ts'

/** SQLite's name of a database without a file. */
const IN_MEMORY = ':memory:'
const SUFFIXES = ['', '-wal', '-shm'] as const

/** Reads each answer's size and the ids of all statuses: fails where a table is missing, or a page that holds them is damaged. */
const READ_TABLES = 'select (select sum(byte_count) from answers), (select count(id) from statuses)'

/**
 * Opens cache.db in the data folder; a file that is damaged, or newer than this executable, is replaced by an empty one.
 * Where there can be none, as on a full disk, the database is in memory: no server stops for want of a cache.
 */
export function openCacheDB(
  data_dir: string,
  onFault: (error: unknown) => void = () => undefined,
): Database {
  const path = join(data_dir, 'cache.db')
  try {
    return openMigrated(path)
  } catch {
    try {
      for (const suffix of SUFFIXES) rmSync(path + suffix, { force: true })
      return openMigrated(path)
    } catch (error) {
      onFault(error)
      return openMigrated(IN_MEMORY)
    }
  }
}

function openMigrated(path: string): Database {
  const db = new Database(path, { create: true, readwrite: true, strict: true })
  try {
    db.run('pragma journal_mode = wal')
    // A power cut may lose the last answers, which can be computed again; a killed process those of its last turn.
    db.run('pragma synchronous = normal')
    migrate(db, CACHE_MIGRATIONS)
    db.query(READ_TABLES).get()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** A computed answer, ready to be spliced into a response body. */
export type ComputedAnswer = AnswerTimes & {
  /** The members of the answer besides its results (columns, types, …): a JSON object as text. */
  readonly head: string
  /** The results, JSON as UTF-8. */
  readonly results: Uint8Array
}

/** An answer larger than this share of the cache would evict too many others. */
const SHARE_MAX = 1 / 8
/** Writing a larger answer would block the event loop for too long. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** The size of a row without its texts. */
const ROW_BYTES = 200
/** Times of use are written in batches: a write per cache hit would cost more than the hit. */
const USES_BATCH = 1000
const EVICTION_BATCH = 16
/**
 * Answers that are kept in memory too, and the size of each: 4 MiB in all, and what is printed of them. Reading a row takes
 * 4 µs, most of it a read transaction.
 */
const RECENT_MAX = 128
const RECENT_BYTES_MAX = 32 * 1024

type RecentAnswer = { readonly project_id: number; readonly answer: ComputedAnswer }
type UnwrittenAnswer = RecentAnswer & { readonly now_ms: number }

export class AnswerCache {
  readonly #db: Database
  readonly #bytes_max: number
  readonly #find: Statement<ComputedAnswer, [string, number]>
  readonly #times: Statement<AnswerTimes, [string, number]>
  #byte_count: number
  #used = new Map<string, number>()
  /** By cache key. This object is the only writer of the table. */
  readonly #recent = new ClockCache<RecentAnswer>(RECENT_MAX)
  /** Answers that are not in the table yet, by cache key. */
  #unwritten = new Map<string, UnwrittenAnswer>()
  /** By project: answers computed up to this time are invalid. */
  readonly #invalid_until_ms = new Map<number, number>()

  /** The database comes from `openCacheDB`; the caller closes it, after `flush`. */
  constructor(db: Database, bytes_max: number) {
    this.#db = db
    this.#bytes_max = bytes_max
    this.#find = db.prepare(
      'select head, results, last_refresh_ms, ends_at_ms from answers where cache_key = ? and project_id = ?',
    )
    this.#times = db.prepare(
      'select last_refresh_ms, ends_at_ms from answers where cache_key = ? and project_id = ?',
    )
    this.#byte_count = this.#countBytes()
  }

  /** Size and number of all answers. */
  get state(): { readonly byte_count: number; readonly answers: number } {
    const answers = Number(this.#db.query('select count(*) from answers').values()[0]?.[0])
    return { byte_count: this.#byte_count, answers }
  }

  /** The times of the answer to a query; null when there is none. */
  findTimes(project_id: number, cache_key: string): AnswerTimes | null {
    const times = this.#findRecent(project_id, cache_key) ?? this.#times.get(cache_key, project_id)
    if (times === null || this.isForgotten(project_id, times.last_refresh_ms)) return null
    return times
  }

  /** Finds the answer to a query and notes its use in memory; null when there is none. */
  find(project_id: number, cache_key: string, now_ms: number): ComputedAnswer | null {
    const recent = this.#findRecent(project_id, cache_key)
    const answer = recent ?? this.#find.get(cache_key, project_id)
    if (answer === null || this.isForgotten(project_id, answer.last_refresh_ms)) return null
    this.#used.set(cache_key, now_ms)
    if (recent === null && answer.head.length + answer.results.length <= RECENT_BYTES_MAX)
      this.#recent.set(cache_key, { project_id, answer })
    return answer
  }

  #findRecent(project_id: number, cache_key: string): ComputedAnswer | null {
    const recent = this.#unwritten.get(cache_key) ?? this.#recent.get(cache_key)
    return recent?.project_id === project_id ? recent.answer : null
  }

  /** Writes the noted uses once there is a batch of them. */
  flushWhenMany(): void {
    if (this.#used.size >= USES_BATCH) this.flush()
  }

  /**
   * Keeps an answer that is found from now on, and returns true when it is the first that waits for `write`. The caller of
   * a query need not wait for that: a transaction takes 0.2 ms, and longer when the log is copied.
   */
  keep(project_id: number, cache_key: string, answer: ComputedAnswer, now_ms: number): boolean {
    this.#unwritten.set(cache_key, { project_id, answer, now_ms })
    return this.#unwritten.size === 1
  }

  /** Stores the answers that were kept. Throws an AggregateError after all were tried, if some could not be stored. */
  write(): void {
    const unwritten_answers = this.#unwritten
    this.#unwritten = new Map()
    const errors: unknown[] = []
    for (const [cache_key, { project_id, answer, now_ms }] of unwritten_answers) {
      try {
        this.put(project_id, cache_key, answer, now_ms)
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'answers could not be cached')
  }

  /** Stores an answer in place of an older one, unless it is too large or was computed before a `forget`. */
  put(project_id: number, cache_key: string, answer: ComputedAnswer, now_ms: number): void {
    if (this.isForgotten(project_id, answer.last_refresh_ms)) return
    const byte_count = answer.head.length + answer.results.length + cache_key.length + ROW_BYTES
    const answer_bytes_max = Math.min(ANSWER_BYTES_MAX, this.#bytes_max * SHARE_MAX)
    if (byte_count > answer_bytes_max) return this.#drop(cache_key)
    const { head, results, last_refresh_ms, ends_at_ms } = answer
    const byte_count_before = this.#byte_count
    try {
      this.#db.transaction(() => {
        this.#drop(cache_key)
        this.#db.run(
          `insert into answers
             (cache_key, project_id, head, byte_count, last_refresh_ms, ends_at_ms, used_ms, results)
           values (?, ?, ?, ?, ?, ?, ?, ?)`,
          [cache_key, project_id, head, byte_count, last_refresh_ms, ends_at_ms, now_ms, results],
        )
      })()
    } catch (error) {
      // The transaction was rolled back, so the older answer exists again.
      this.#byte_count = byte_count_before
      throw error
    }
    this.#byte_count += byte_count
    this.#evict()
  }

  /**
   * Invalidates every answer about a project whose computation has begun by now, because stored events of the project
   * change. The times in memory hold if the disk refuses; `synchronous = full` holds through a power cut.
   */
  forget(project_id: number, now_ms: number): void {
    this.#invalid_until_ms.set(project_id, now_ms)
    this.#db.run('pragma synchronous = full')
    try {
      this.dropProject(project_id)
    } finally {
      this.#db.run('pragma synchronous = normal')
    }
  }

  /** True for an answer that was computed before the last `forget` of its project. */
  isForgotten(project_id: number, last_refresh_ms: number): boolean {
    return last_refresh_ms <= (this.#invalid_until_ms.get(project_id) ?? Number.NEGATIVE_INFINITY)
  }

  /** Deletes every answer about a project. */
  dropProject(project_id: number): void {
    this.#recent.clear()
    for (const [cache_key, unwritten] of this.#unwritten) {
      if (unwritten.project_id === project_id) this.#unwritten.delete(cache_key)
    }
    this.#db.run('delete from answers where project_id = ?', [project_id])
    this.#byte_count = this.#countBytes()
  }

  /** Writes the uses noted since the last flush. */
  flush(): void {
    const used = this.#used
    this.#used = new Map()
    this.#db.transaction(() => {
      for (const [cache_key, used_ms] of used) {
        this.#db.run('update answers set used_ms = ? where cache_key = ?', [used_ms, cache_key])
      }
    })()
  }

  #drop(cache_key: string): void {
    this.#recent.delete(cache_key)
    const dropped = this.#db
      .query<{ byte_count: number }, [string]>(
        'delete from answers where cache_key = ? returning byte_count',
      )
      .get(cache_key)
    this.#byte_count -= dropped?.byte_count ?? 0
  }

  #evict(): void {
    if (this.#byte_count <= this.#bytes_max) return
    this.flush()
    const oldest = this.#db.query<{ cache_key: string }, [number]>(
      'select cache_key from answers order by used_ms, last_refresh_ms limit ?',
    )
    while (this.#byte_count > this.#bytes_max) {
      const rows = oldest.all(EVICTION_BATCH)
      if (rows.length === 0) return
      for (const { cache_key } of rows) {
        if (this.#byte_count > this.#bytes_max) this.#drop(cache_key)
      }
    }
  }

  #countBytes(): number {
    const sum = this.#db.query('select coalesce(sum(byte_count), 0) from answers').values()[0]
    return Number(sum?.[0])
  }
}
