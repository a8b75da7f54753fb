/** Insights asked of both engines, over the same rows: one machine's, and those of a cluster. */

import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../src/hogql/clickhouse/table-state.ts'
import { compileSelect } from '../../src/hogql/compile.ts'
import type { RunTree } from '../../src/insights/insight.ts'
import { insightOf } from '../../src/insights/kinds.ts'
import { ClickHouseEngine } from '../../src/query/clickhouse/clickhouse-engine.ts'
import { workerQuery } from '../../src/query/kinds/hogql.ts'
import type { InsightQueryNode } from '../../src/query/kinds/insight.ts'
import { formatUuid } from '../../src/uuid.ts'
import { type InsightWorld, insightContext, type Known, type Sent } from '../insights/world.ts'
import { idOf } from '../query/world.ts'
import { NO_LOG } from '../snapshots/snapshot-world.ts'
import type { ClickHouseCluster } from './cluster.ts'
import { NOW, PERSON_COUNT, pick } from './insight-queries.ts'
import { clientOf, eventRow, insertRows } from './rows.ts'

/** The same events, persons and groups in the folder of one machine and in ClickHouse. */
export async function fillBoth(
  world: InsightWorld,
  cluster: ClickHouseCluster,
  events: readonly Sent[],
): Promise<void> {
  world.send(...events)
  const stored = world.world.log.db
    .query<{ uuid: Uint8Array }, []>('select uuid from events order by seq')
    .all()
  const uuids = stored.map(({ uuid }) => formatUuid(uuid))
  const persons = Array.from({ length: PERSON_COUNT }, (_, person) => ({
    person,
    created_at: pick(['2024-03-20T00:00:00Z', '2024-03-26T08:00:00Z'], person),
    properties: { plan: pick(['free', 'pro', null], person), age: 20 + person },
  }))
  for (const { person, created_at, properties } of persons)
    world.addPerson(person, created_at, properties)
  for (const key of ['g0', 'g1']) world.addGroup(0, key, { size: key === 'g0' ? 'big' : 'small' })
  world.merge(5, 2)
  await insertRows(
    clientOf(cluster),
    'events',
    events.map((sent, seq) =>
      eventRow({
        project_id: 1,
        seq,
        uuid: uuids[seq] ?? '',
        event: sent.event ?? '',
        distinct_id: `d${sent.person}`,
        person_id: uuidOf(sent.person),
        person_mode: 'full',
        timestamp: sent.at,
        created_at: sent.at,
        group_0: sent.groups?.[0] ?? null,
        properties: JSON.stringify(sent.properties),
      }),
    ),
  )
  for (const shard of cluster.shards.keys()) {
    const insert = (table: string, rows: Parameters<typeof insertRows>[2]) =>
      insertRows(clientOf(cluster, shard), table, rows)
    await insert(
      'persons',
      persons.map(({ person, created_at, properties }) => ({
        project_id: 1,
        id: uuidOf(person),
        created_at,
        is_identified: true,
        properties: JSON.stringify(properties),
      })),
    )
    await insert('person_overrides', [
      { project_id: 1, old_person_id: uuidOf(5), person_id: uuidOf(2) },
    ])
    await insert(
      'groups',
      ['g0', 'g1'].map((key) => ({
        project_id: 1,
        index: 0,
        key,
        created_at: '2024-03-20T00:00:00Z',
        updated_at: '2024-03-20T00:00:00Z',
        properties: JSON.stringify({ size: key === 'g0' ? 'big' : 'small' }),
      })),
    )
  }
}

const uuidOf = (person: number): string => formatUuid(idOf(person))

/** Runs trees of an insight in ClickHouse. */
function runIn(engine: ClickHouseEngine, world: InsightWorld): RunTree {
  const { rows_max, property_types, project } = world.queryContext()
  const dialect = clickhouseDialect(PLAIN_STATE)
  const context = {
    project_id: project.id,
    timezone: project.timezone,
    week_start_day: project.week_start_day === 1 ? (1 as const) : (0 as const),
    hidden_tables: [],
    limits: { rows_default: rows_max, rows_max },
    now_us: BigInt(Date.parse(NOW)) * 1000n,
    property_types,
  }
  return async (tree) => {
    const compiled = compileSelect(tree, context, dialect)
    const query = workerQuery(compiled, world.queryContext())
    const answer = await engine.run(query, { timeout_ms: 60_000 })
    const rows = JSON.parse(Buffer.from(answer.rows_json).toString())
    const { columns, types, hogql } = compiled
    return { columns, types, rows, has_more: answer.has_more, hogql }
  }
}

/** The engine that asks a cluster, and folds in the world's query process. */
export function engineOf(world: InsightWorld, cluster: ClickHouseCluster): ClickHouseEngine {
  return new ClickHouseEngine({
    reader: clientOf(cluster, 0, 'queries'),
    writer: clientOf(cluster),
    limits: {
      running_max: 4,
      waiting_max: 16,
      memory_bytes_max: 2_000_000_000,
      rows_read_max: 1_000_000_000,
      result_bytes_max: 8_000_000,
      spill_mb: 1000,
    },
    folding: world.world.openFoldingEngine(),
    data_dir: world.world.data_dir,
    log: NO_LOG,
  })
}

/** What both engines answer to an insight; why there is no answer, as text. */
export async function askBoth(
  query: InsightQueryNode,
  known: Known,
  { world, engine }: { readonly world: InsightWorld; readonly engine: ClickHouseEngine },
): Promise<{ readonly ours: unknown; readonly theirs: unknown }> {
  world.know(known)
  const ours = await world.ask(query, NOW).then(({ results }) => results, String)
  const answer = insightOf(query.kind, query)
  const theirs = await answer(insightContext(NOW, known), runIn(engine, world)).then(
    ({ results }) => JSON.parse(JSON.stringify(results)),
    String,
  )
  return { ours, theirs }
}
