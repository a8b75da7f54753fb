/** Opens DuckDB instances: locked down for queries, plain for the snapshot writer. */
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  StatementType,
} from '@duckdb/node-api'
import { Refusal } from '../../errors.ts'
import { textList } from './duckdb-text.ts'

export type InstanceOptions = {
  readonly memory_mb: number
  readonly threads: number
  /** The folder for sorts and joins that do not fit into memory. */
  readonly spill_dir: string
  /** Limit of the folder's size, in MiB. */
  readonly spill_mb?: number
}

/** The default of `spill_mb`; DuckDB's default is 90 % of the disk. */
const SPILL_MB_MAX = 20_000

/** The configuration of every instance; no instance may fetch an extension. */
const CONFIG = {
  // Returns memory while idle: 200,000 events trimmed from the tail leave 102 MB instead of 310.
  allocator_background_threads: 'true',
  allow_community_extensions: 'false',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  // 1 / 0 is infinity, as the macros expect.
  ieee_floating_point_ops: 'true',
} as const

/** Opens an in-memory instance that may read and write files: for our own statements only. */
export async function openInstance(options: InstanceOptions): Promise<DuckDBInstance> {
  return DuckDBInstance.create(':memory:', {
    ...CONFIG,
    memory_limit: `${options.memory_mb}MiB`,
    threads: String(options.threads),
    temp_directory: options.spill_dir,
    max_temp_directory_size: `${options.spill_mb ?? SPILL_MB_MAX}MiB`,
  })
}

/**
 * Locks the instance permanently: it then reaches no file but `allowed_paths` and those of `allowed_folder`, no network, and
 * no setting. This is only a second wall: `COPY … (use_tmp_file false)` would still write to an allowed path, which is
 * why nothing but one SELECT is ever run (`prepareSelect`).
 */
export async function lockInstance(
  connection: DuckDBConnection,
  allowed_paths: readonly string[],
  allowed_folder: string,
): Promise<void> {
  const settings = [
    // Files never change, so their footers are read once.
    'set global parquet_metadata_cache = true',
    `set allowed_paths = ${textList(allowed_paths)}`,
    `set allowed_directories = ${textList([`${allowed_folder}/`])}`,
    'set enable_external_access = false',
    'set lock_configuration = true',
  ]
  await connection.run(settings.join('; '))
}

/** A connection for repeated statements: each is prepared once, since parsing takes most of their time. */
export class StatementWriter {
  readonly connection: DuckDBConnection
  readonly #prepared = new Map<string, DuckDBPreparedStatement>()

  constructor(connection: DuckDBConnection) {
    this.connection = connection
  }

  /** Runs a statement whose text never changes; run others on `connection`. */
  async repeat(sql: string): Promise<void> {
    const prepared = this.#prepared.get(sql) ?? (await this.connection.prepare(sql))
    this.#prepared.set(sql, prepared)
    await prepared.run()
  }

  /** Closes the connection and its statements; a prepared statement would keep the closed instance in memory. */
  close(): void {
    for (const prepared of this.#prepared.values()) prepared.destroySync()
    this.#prepared.clear()
    this.connection.closeSync()
  }
}

/** DuckDB's statement type SELECT includes PRAGMA, SHOW, DESCRIBE and SUMMARIZE. */
const SELECT_BEGINNING = /^[\s(]*(select|with)\b/i

/** Prepares a statement; refuses anything but a single SELECT (a bug of the printer, or an attack). */
export async function prepareSelect(
  connection: DuckDBConnection,
  sql: string,
): Promise<DuckDBPreparedStatement> {
  if (!SELECT_BEGINNING.test(sql)) throw notOneSelect()
  const statements = await connection.extractStatements(sql)
  if (statements.count !== 1) throw notOneSelect()
  const prepared = await statements.prepare(0)
  if (prepared.statementType === StatementType.SELECT) return prepared
  prepared.destroySync()
  throw notOneSelect()
}

function notOneSelect(): Refusal {
  return new Refusal('query_failed', 'Only a single SELECT can be run.')
}
