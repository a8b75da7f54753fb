/** Insights through both engines: the same answers on one server and on two shards, in three zones. */
import { describe, expect, test } from 'bun:test'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../src/hogql/clickhouse/table-state.ts'
import { compileSelect } from '../../src/hogql/compile.ts'
import type { RunTree } from '../../src/insights/insight.ts'
import { insightOf } from '../../src/insights/kinds.ts'
import { ClickHouseEngine } from '../../src/query/clickhouse/clickhouse-engine.ts'
import { workerQuery } from '../../src/query/kinds/hogql.ts'
import type { InsightQueryNode } from '../../src/query/kinds/insight.ts'
import { formatUuid } from '../../src/uuid.ts'
import { InsightWorld, insightContext } from '../insights/world.ts'
import { idOf } from '../query/world.ts'
import { type ClickHouseCluster, startCluster } from './cluster.ts'
import {
  INSIGHT_QUESTIONS,
  KNOWN,
  makeEvents,
  NOW,
  PERSON_COUNT,
  pick,
} from './insight-questions.ts'
import { hasClickHouse } from './library.ts'
import { clientOf, eventRow, insertRows, makeTables } from './rows.ts'

async function fill(world: InsightWorld, cluster: ClickHouseCluster): Promise<void> {
  const events = makeEvents()
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
    week_start_day: 0 as const,
    limits: { rows_default: rows_max, rows_max },
    now_us: BigInt(Date.parse(NOW)) * 1000n,
    property_types,
  }
  return async (tree) => {
    const compiled = compileSelect(tree, context, dialect)
    const query = workerQuery(compiled, world.queryContext())
    const answer = await engine.ask(query, { timeout_ms: 60_000 })
    const rows = JSON.parse(Buffer.from(answer.rows_json).toString())
    const { columns, types, hogql } = compiled
    return { columns, types, rows, has_more: answer.has_more, hogql }
  }
}

/** `EVERY_CASE=1` asks all in all zones; without it each question is asked once, of one server or of two. */
const IS_LONG = process.env['EVERY_CASE'] === '1'
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York'] as const

type InsightCase = {
  readonly name: string
  readonly question: InsightQueryNode
  readonly timezone: string
  readonly is_for: (shard_count: number) => boolean
}

const CASES: readonly InsightCase[] = Object.entries(INSIGHT_QUESTIONS).flatMap(
  ([name, question], index) =>
    ZONES.filter((_, zone) => IS_LONG || zone === index % ZONES.length).map((timezone) => ({
      name,
      question,
      timezone,
      is_for: (shard_count) => IS_LONG || shard_count === 1 + (index % 2),
    })),
)

describe.skipIf(!hasClickHouse())('insights', () => {
  for (const shard_count of [1, 2])
    test(`answer the same from ${shard_count} servers as from one machine`, async () => {
      await using cluster = await startCluster(shard_count)
      await makeTables(cluster)
      await using world = new InsightWorld()
      await fill(world, cluster)
      const engine = new ClickHouseEngine({
        reader: clientOf(cluster, 0, 'questions'),
        writer: clientOf(cluster),
        limits: {
          running_max: 4,
          waiting_max: 16,
          memory_bytes_max: 2_000_000_000,
          rows_read_max: 1_000_000_000,
          result_bytes_max: 8_000_000,
        },
        folding: world.world.openFoldingEngine(),
        data_dir: world.world.data_dir,
      })
      const different: unknown[] = []
      for (const { name, question, timezone } of CASES.filter(({ is_for }) =>
        is_for(shard_count),
      )) {
        world.know({ ...KNOWN, timezone })
        const ours = await world.ask(question, NOW).then(({ results }) => results, String)
        // An answer of nothing would prove nothing.
        if (!/[:[,]"?[1-9]/.test(JSON.stringify(ours))) different.push({ name, timezone, ours })
        const context = insightContext(NOW, { ...KNOWN, timezone })
        const { results } = await insightOf(question.kind, question)(
          context,
          runIn(engine, world),
        ).catch((error: unknown) => ({ results: String(error) }))
        if (!Bun.deepEquals(JSON.parse(JSON.stringify(results)), ours))
          different.push({ name, timezone, ours, theirs: results })
      }
      expect(different).toEqual([])
      engine.close()
    }, 600_000)
})
