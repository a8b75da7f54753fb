/** Insights through both engines: the same answers on one server and on two shards, in three zones. */
import { describe, expect, test } from 'bun:test'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../src/hogql/clickhouse/table-state.ts'
import { compileSelect } from '../../src/hogql/compile.ts'
import type { RunTree } from '../../src/insights/insight.ts'
import { insightOf } from '../../src/insights/kinds.ts'
import { ClickHouseEngine } from '../../src/query/clickhouse/clickhouse-engine.ts'
import type { InsightQueryNode } from '../../src/query/kinds/insight.ts'
import { InsightWorld, insightContext, type Known, type Sent } from '../insights/world.ts'
import { idOf } from '../query/world.ts'
import { rejectionOf } from '../rejection.ts'
import { type ClickHouseCluster, startCluster } from './cluster.ts'
import { hasClickHouse } from './library.ts'
import { clientOf, eventRow, insertRows, makeTables } from './rows.ts'

const NOW = '2024-04-05T12:00:00Z'
const RANGE = { date_from: '2024-03-25', date_to: '2024-04-04' }
const KNOWN: Known = {
  property_types: { 'event:price': 'Numeric', 'event:paid': 'Boolean', 'person:age': 'Numeric' },
}

const pick = <Item>(items: readonly Item[], at: number): Item => {
  const item = items[at % items.length]
  if (item === undefined) throw new Error('nothing to pick')
  return item
}

/** 300 events of 12 persons over two weeks, across the start of summer time. The same ones each time. */
function makeEvents(): readonly Sent[] {
  let state = 7
  const next = (): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state >> 8
  }
  return Array.from({ length: 300 }, () => ({
    event: pick(['$pageview', 'signup', 'bought', '$pageview'], next()),
    at: new Date(Date.UTC(2024, 2, 23) + (next() % (14 * 86_400)) * 1000).toISOString(),
    person: next() % 12,
    properties: {
      $browser: pick(['Chrome', 'Firefox', null, ''], next()),
      plan: pick(['free', 'pro', null], next()),
      price: pick([10, 2.5, 'none', null], next()),
      paid: pick([true, false, null], next()),
      $session_id: `s${next() % 40}`,
    },
    groups: next() % 2 === 0 ? [] : [`g${next() % 3}`],
  }))
}

const series = (members: object = {}, event: string | null = '$pageview') => [
  { kind: 'EventsNode' as const, event, ...members },
]
const trends = (members: object, more: object = {}): InsightQueryNode => ({
  kind: 'TrendsQuery',
  series: series(members),
  dateRange: RANGE,
  ...more,
})
const breakdown = (of: string, type: string): object => ({
  breakdownFilter: { breakdown: of, breakdown_type: type },
})
const target = { id: '$pageview', type: 'events' as const }

const QUESTIONS: Readonly<Record<string, InsightQueryNode>> = {
  'events per day': trends({}),
  'events per hour': trends(
    {},
    { interval: 'hour', dateRange: { date_from: '2024-03-30', date_to: '2024-04-01' } },
  ),
  'events per week': trends({}, { interval: 'week' }),
  'events per month': trends({}, { interval: 'month' }),
  'persons per day': trends({ math: 'dau' }),
  'persons of the last seven days': trends({ math: 'weekly_active' }),
  'sessions per day': trends({ math: 'unique_session' }),
  'sum of a number': trends({ math: 'sum', math_property: 'price' }),
  'average of a number': trends({ math: 'avg', math_property: 'price' }),
  'the greatest number': trends({ math: 'max', math_property: 'price' }),
  'ninety per cent of a number': trends({ math: 'p90', math_property: 'price' }),
  'first time of a person': trends({ math: 'first_time_for_user' }),
  'events of a person on average': trends({ math: 'avg_count_per_actor' }, { interval: 'week' }),
  'persons so far': trends(
    { math: 'dau' },
    { trendsFilter: { display: 'ActionsLineGraphCumulative' } },
  ),
  'by browser': trends({}, breakdown('$browser', 'event')),
  'by plan': trends({}, breakdown('plan', 'event')),
  'persons by their plan': trends({ math: 'dau' }, breakdown('plan', 'person')),
  'by size of group': trends(
    {},
    {
      breakdownFilter: {
        breakdown: 'size',
        breakdown_type: 'group',
        breakdown_group_type_index: 0,
      },
    },
  ),
  'of one plan': trends({
    properties: [{ key: 'plan', value: 'pro', operator: 'exact', type: 'event' }],
  }),
  'of prices above': trends({
    properties: [{ key: 'price', value: 5, operator: 'gt', type: 'event' }],
  }),
  'of persons above an age': trends({
    properties: [{ key: 'age', value: 25, operator: 'gt', type: 'person' }],
  }),
  'as one number': trends({}, { trendsFilter: { display: 'BoldNumber' } }),
  'a formula of two': {
    kind: 'TrendsQuery',
    series: [...series(), ...series({}, 'bought')],
    dateRange: RANGE,
    trendsFilter: { formula: 'A / B' },
  },
  'compared with before': trends({}, { compareFilter: { compare: true } }),
  lifecycle: { kind: 'LifecycleQuery', series: series(), dateRange: RANGE },
  stickiness: { kind: 'StickinessQuery', series: series(), dateRange: RANGE },
  retention: {
    kind: 'RetentionQuery',
    dateRange: { date_to: RANGE.date_to },
    retentionFilter: { totalIntervals: 8, targetEntity: target, returningEntity: target },
  },
  'retention of first times by week': {
    kind: 'RetentionQuery',
    dateRange: { date_to: RANGE.date_to },
    retentionFilter: {
      totalIntervals: 3,
      period: 'Week',
      retentionType: 'retention_first_time',
      targetEntity: target,
      returningEntity: target,
    },
  },
}

/** Folds over the events of an actor are not asked of ClickHouse yet. */
const FOLDS: Readonly<Record<string, InsightQueryNode>> = {
  funnel: {
    kind: 'FunnelsQuery',
    series: [...series(), ...series({}, 'bought')],
    dateRange: RANGE,
  },
}

async function fill(world: InsightWorld, cluster: ClickHouseCluster): Promise<void> {
  const events = makeEvents()
  world.send(...events)
  const created_at = '2024-03-20T00:00:00Z'
  const persons = Array.from({ length: 12 }, (_, person) => ({
    person,
    properties: { plan: pick(['free', 'pro', null], person), age: 20 + person },
  }))
  for (const { person, properties } of persons) world.addPerson(person, created_at, properties)
  for (const key of ['g0', 'g1']) world.addGroup(0, key, { size: key === 'g0' ? 'big' : 'small' })
  world.merge(5, 2)
  await insertRows(
    clientOf(cluster),
    'events',
    events.map((sent, seq) =>
      eventRow({
        project_id: 1,
        seq,
        uuid: crypto.randomUUID(),
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
      persons.map(({ person, properties }) => ({
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
        created_at,
        updated_at: created_at,
        properties: JSON.stringify({ size: key === 'g0' ? 'big' : 'small' }),
      })),
    )
  }
}

const uuidOf = (person: number): string =>
  Buffer.from(idOf(person))
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Runs trees of an insight in ClickHouse. */
function runIn(engine: ClickHouseEngine, timezone: string): RunTree {
  return async (tree) => {
    const limits = { rows_default: 50_000, rows_max: 50_000 }
    const compiled = compileSelect(
      tree,
      {
        project_id: 1,
        timezone,
        week_start_day: 0,
        limits,
        now_us: BigInt(Date.parse(NOW)) * 1000n,
        property_types: new Map(Object.entries(KNOWN.property_types ?? {})),
      },
      clickhouseDialect(PLAIN_STATE),
    )
    const { sql, columns, types, reads, hogql } = compiled
    const values = compiled.values.map(({ type, value }) => ({ type, text: String(value) }))
    const answer = await engine.ask(
      {
        project_id: 1,
        sql,
        values,
        types,
        reads,
        timezone,
        rows_max: 50_000,
        more_is_too_many: true,
      },
      { timeout_ms: 60_000 },
    )
    const rows = JSON.parse(Buffer.from(answer.rows_json).toString())
    return { columns, types, rows, has_more: answer.has_more, hogql }
  }
}

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
      })
      const different: unknown[] = []
      for (const timezone of ['UTC', 'Europe/Berlin', 'America/New_York'])
        for (const [name, question] of Object.entries(QUESTIONS)) {
          world.know({ ...KNOWN, timezone })
          const ours = (await world.ask(question, NOW)).results
          // An answer of nothing would prove nothing.
          expect(JSON.stringify(ours), name).toMatch(/[:[,][1-9]/)
          const context = insightContext(NOW, { ...KNOWN, timezone })
          const { results } = await insightOf(question.kind, question)(
            context,
            runIn(engine, timezone),
          ).catch((error: unknown) => ({ results: String(error) }))
          if (!Bun.deepEquals(JSON.parse(JSON.stringify(results)), ours))
            different.push({ name, timezone, ours, theirs: results })
        }
      expect(different).toEqual([])
      for (const [kind, question] of Object.entries(FOLDS)) {
        const asked = insightOf(question.kind, question)(
          insightContext(NOW, KNOWN),
          runIn(engine, 'UTC'),
        )
        expect(await rejectionOf(asked), kind).toMatchObject({
          code: 'invalid_input',
          detail: 'A fold over the events of an actor is not available where ClickHouse answers',
        })
      }
      engine.close()
    }, 300_000)
})
