/** The servers of a topology: whether they fit, and which of them gets which rows, so that a statement reaches every shard once. */

import {
  type ClickHouseClient,
  ClickHouseError,
  type ClickHouseStatement,
} from './clickhouse-client.ts'
import { type ClickHouseTopology, ClickHouseUnfit, migrateClickHouse } from './clickhouse-schema.ts'

type NodeOptions = {
  /** One server of each shard, as the user that writes; one server of any shard where the shards have copies. */
  readonly writers: readonly [ClickHouseClient, ...ClickHouseClient[]]
  /** The first server as the user that only reads. */
  readonly reader: ClickHouseClient
  /** Null for one server without a cluster. */
  readonly cluster: string | null
}

export class ClickHouseNodes {
  readonly #options: NodeOptions
  #topology: ClickHouseTopology
  #is_fit = false

  constructor(options: NodeOptions) {
    const { cluster } = options
    this.#options = options
    this.#topology =
      cluster === null ? { kind: 'server' } : { kind: 'cluster', cluster, is_replicated: false }
  }

  /**
   * Finds out how the servers are laid out and brings their tables to this executable's schema; at once after the first
   * time. Throws ClickHouseUnfit with the reason when they do not fit; errors of the network pass through.
   */
  async fit(): Promise<void> {
    if (this.#is_fit) return
    const { writers, cluster } = this.#options
    try {
      if (cluster !== null) this.#topology = await findTopology(writers, cluster)
      for (const writer of this.#owners) await migrateClickHouse(writer, this.#topology)
      await requireRights(this.#options, this.events_table)
    } catch (error) {
      throw unfitOf(error)
    }
    this.#is_fit = true
  }

  /** The server that takes statements meant once for all of them. */
  get first(): ClickHouseClient {
    return this.#options.writers[0]
  }

  /** The table with a shard's own events. */
  get events_table(): string {
    return this.#topology.kind === 'cluster' ? 'events_local' : 'events'
  }

  /** Sends a statement to every server that has tables of its own. Rejects when one fails; all have been asked then. */
  async runEverywhere(sql: string, more: Omit<ClickHouseStatement, 'sql'> = {}): Promise<void> {
    const ends = await Promise.allSettled(this.#owners.map((node) => node.run(sql, more)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  /** The servers that have tables of their own, or pass statements on to those that do. */
  get #owners(): readonly ClickHouseClient[] {
    return this.isReplicated() ? [this.first] : this.#options.writers
  }

  /** `ON CLUSTER …` where the servers pass on statements themselves. */
  get on_cluster(): string {
    return this.isReplicated() ? ` ON CLUSTER '${this.#options.cluster}'` : ''
  }

  /** Breaks off every request to the servers. */
  close(): void {
    for (const client of [...this.#options.writers, this.#options.reader]) client.close()
  }

  isReplicated(): boolean {
    return this.#topology.kind === 'cluster' && this.#topology.is_replicated
  }
}

/** Servers with the macros of copies keep copies. Without them, each shard is sent its statements. */
async function findTopology(
  writers: NodeOptions['writers'],
  cluster: string,
): Promise<ClickHouseTopology> {
  const macros = await writers[0].run(
    "SELECT count() FROM system.macros WHERE macro IN ('shard', 'replica')",
  )
  const is_replicated = Number(macros) === 2
  const shards = Number(
    await writers[0].run(
      'SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = {p1:String}',
      {
        texts: [cluster],
      },
    ),
  )
  if (shards === 0) throw new ClickHouseUnfit(`ClickHouse knows no cluster ${cluster}`)
  if (!is_replicated && shards !== writers.length)
    throw new ClickHouseUnfit(
      `cluster ${cluster} has ${shards} shards without copies: TIDEMARK_CLICKHOUSE_URL must name one address of each, and names ${writers.length}`,
    )
  return { kind: 'cluster', cluster, is_replicated }
}

/** The rights of the user that writes, after those without which the tables could not be made. */
const WRITER_RIGHTS: readonly (readonly [rights: string, on: 'database' | 'everything'])[] = [
  ['SELECT, INSERT, ALTER DELETE, ALTER UPDATE', 'database'],
  // Queries that were stopped, and inserts of a server that is gone.
  ['KILL QUERY', 'everything'],
]

/** Every query has some: a user with `readonly = 1` may set none. */
const SET_BY_QUERIES = { transform_null_in: 1 }

/** Asked before the first batch: a right that is missing later would stop all of them. */
async function requireRights(
  { writers, reader }: NodeOptions,
  events_table: string,
): Promise<void> {
  const { database } = reader.access
  for (const writer of writers)
    for (const [rights, on] of WRITER_RIGHTS) {
      const where = on === 'database' ? `\`${database}\`.*` : '*.*'
      if ((await writer.run(`CHECK GRANT ${rights} ON ${where}`)).trim() !== '1')
        throw new ClickHouseUnfit(
          `the user ${writer.access.user} of ClickHouse needs ${rights} on ${where.replaceAll('`', '')}`,
        )
    }
  for (const table of ['events', 'persons', events_table])
    await reader.run(`SELECT 1 FROM \`${table}\` LIMIT 0`, { settings: SET_BY_QUERIES })
  const may_insert = await reader.run(`CHECK GRANT INSERT ON \`${database}\`.persons`)
  if (may_insert.trim() === '1')
    throw new ClickHouseUnfit(
      `the user ${reader.access.user} of ClickHouse, as which queries are asked, may write: it must have SELECT on ${database}.* and no other right`,
    )
}

/** Reasons by the code of ClickHouse: a wrong password, a missing right, no settings, no database. */
const UNFIT: ReadonlyMap<number, string> = new Map([
  [516, 'ClickHouse refuses the user or its password'],
  [497, 'a right is missing in ClickHouse'],
  [164, 'readonly of a user in ClickHouse must be 2 for queries, and 0 for writing'],
  [81, 'the database is missing in ClickHouse'],
])

function unfitOf(error: unknown): unknown {
  if (!(error instanceof ClickHouseError) || error.code === null) return error
  const reason = UNFIT.get(error.code)
  return reason === undefined
    ? error
    : new ClickHouseUnfit(`${reason}: ${error.message.split('\n')[0] ?? ''}`)
}
