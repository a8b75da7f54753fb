/** The connections of one instance that questions read with, each used by one question at a time. */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'

/** Made before the lock, the only ones that can tell how far a question is; further ones come without. */
const TELLING = 8

export class ReaderConnections {
  readonly #instance: DuckDBInstance
  readonly #idle: DuckDBConnection[]
  #is_closed = false

  private constructor(instance: DuckDBInstance, idle: DuckDBConnection[]) {
    this.#instance = instance
    this.#idle = idle
  }

  /** To be called before the instance is locked. */
  static async open(instance: DuckDBInstance): Promise<ReaderConnections> {
    const idle = await Promise.all(Array.from({ length: TELLING }, () => openTelling(instance)))
    return new ReaderConnections(instance, idle)
  }

  async take(): Promise<DuckDBConnection> {
    return this.#idle.pop() ?? this.#instance.connect()
  }

  /** Ends whatever the connection was doing; one that cannot be used again is closed. */
  async giveBack(connection: DuckDBConnection): Promise<void> {
    try {
      await connection.run('rollback')
      if (this.#is_closed) connection.closeSync()
      else this.#idle.push(connection)
    } catch {
      connection.closeSync()
    }
  }

  /** Those that are given back later are closed then. */
  close(): void {
    this.#is_closed = true
    for (const connection of this.#idle.splice(0)) connection.closeSync()
  }
}

async function openTelling(instance: DuckDBInstance): Promise<DuckDBConnection> {
  const connection = await instance.connect()
  await connection.run('set enable_progress_bar = true')
  await connection.run('set enable_progress_bar_print = false')
  return connection
}
