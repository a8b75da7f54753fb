/** The connections of one instance that queries read with, each used by one query at a time. */
import type { DuckDBConnection, DuckDBInstance, DuckDBPreparedStatement } from '@duckdb/node-api'
import { prepareSelect, StatementWriter } from '../../storage/duckdb/duckdb.ts'

/** Made before the lock, the only ones that can tell how far a query is; further ones come without. */
const TELLING = 8
/** Queries that each connection keeps prepared, and how long their texts may be. */
const KEPT_MAX = 16
const KEPT_LENGTH_MAX = 10_000

/**
 * A connection with the queries it was asked lately. Asked again with whatever values, one is planned once and not
 * twice: the engine plans it for its values each time it runs, by what there is then.
 */
export class ReaderConnection {
  readonly connection: DuckDBConnection
  readonly #own: StatementWriter
  /** In the order in which they were asked last. */
  readonly #kept = new Map<string, DuckDBPreparedStatement>()
  /** The query under way. */
  #begun: { readonly sql: string; readonly prepared: DuckDBPreparedStatement } | null = null

  constructor(connection: DuckDBConnection) {
    this.connection = connection
    this.#own = new StatementWriter(connection)
  }

  keeps(sql: string): boolean {
    return this.#kept.has(sql)
  }

  /** One SELECT, in a transaction that sees one state of everything until `end`. */
  async begin(sql: string): Promise<DuckDBPreparedStatement> {
    await this.#own.repeat('begin transaction read only')
    const prepared = this.#kept.get(sql) ?? (await prepareSelect(this.connection, sql))
    this.#kept.delete(sql)
    this.#begun = { sql, prepared }
    return prepared
  }

  /** Keeps the query that was begun, since it was answered: one that failed may never work again. */
  keep(): void {
    if (this.#begun === null) return
    const { sql, prepared } = this.#begun
    if (sql.length > KEPT_LENGTH_MAX) return
    this.#begun = null
    this.#kept.set(sql, prepared)
    const [oldest = sql] = this.#kept.keys()
    if (this.#kept.size > KEPT_MAX) this.#drop(oldest)
  }

  /** Ends whatever the connection was doing. */
  async end(): Promise<void> {
    await this.#own.repeat('rollback')
    this.#begun?.prepared.destroySync()
    this.#begun = null
  }

  /** Lets go of what is kept, which holds files open. */
  forget(): void {
    for (const sql of this.#kept.keys()) this.#drop(sql)
  }

  close(): void {
    this.forget()
    this.#own.close()
  }

  #drop(sql: string): void {
    this.#kept.get(sql)?.destroySync()
    this.#kept.delete(sql)
  }
}

export class ReaderConnections {
  readonly #instance: DuckDBInstance
  readonly #idle: ReaderConnection[]
  /** Those that queries have, and whether they are to forget what they keep. */
  readonly #taken = new Map<ReaderConnection, { is_stale: boolean }>()
  #is_closed = false

  private constructor(instance: DuckDBInstance, idle: ReaderConnection[]) {
    this.#instance = instance
    this.#idle = idle
  }

  /** To be called before the instance is locked. */
  static async open(instance: DuckDBInstance): Promise<ReaderConnections> {
    const idle = await Promise.all(Array.from({ length: TELLING }, () => openTelling(instance)))
    return new ReaderConnections(instance, idle)
  }

  /** One that keeps the query, if there is one. */
  async take(sql: string): Promise<ReaderConnection> {
    const index = this.#idle.findLastIndex((reader) => reader.keeps(sql))
    const [idle] = this.#idle.splice(index, 1)
    const reader = idle ?? new ReaderConnection(await this.#instance.connect())
    this.#taken.set(reader, { is_stale: false })
    return reader
  }

  /** Ends whatever the connection was doing; one that cannot be used again is closed. */
  async giveBack(reader: ReaderConnection): Promise<void> {
    try {
      await reader.end()
      if (this.#taken.get(reader)?.is_stale === true) reader.forget()
      if (this.#is_closed) reader.close()
      else this.#idle.push(reader)
    } catch {
      reader.close()
    } finally {
      this.#taken.delete(reader)
    }
  }

  /** Lets go of files that are no more: what queries under way keep goes when they are over. */
  forget(): void {
    for (const reader of this.#idle) reader.forget()
    for (const state of this.#taken.values()) state.is_stale = true
  }

  /** Those that are given back later are closed then. */
  close(): void {
    this.#is_closed = true
    for (const reader of this.#idle.splice(0)) reader.close()
  }
}

async function openTelling(instance: DuckDBInstance): Promise<ReaderConnection> {
  const connection = await instance.connect()
  await connection.run('set enable_progress_bar = true')
  await connection.run('set enable_progress_bar_print = false')
  return new ReaderConnection(connection)
}
