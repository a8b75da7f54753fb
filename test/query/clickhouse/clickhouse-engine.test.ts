/** Queries to a real ClickHouse through the engine: rows, limits, stops, errors, and what the restricted user may not. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { clickhouseDialect } from '../../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../../src/hogql/clickhouse/table-state.ts'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { NO_READS } from '../../../src/hogql/query-reads.ts'
import {
  ClickHouseEngine,
  type ClickHouseLimits,
} from '../../../src/query/clickhouse/clickhouse-engine.ts'
import type { QueryEngine } from '../../../src/query/engine/engine.ts'
import type { WorkerQuery } from '../../../src/query/engine/protocol.ts'
import { workerQuery } from '../../../src/query/kinds/hogql.ts'
import { ClickHouseClient } from '../../../src/storage/clickhouse/clickhouse-client.ts'
import { gatheredFolder } from '../../../src/storage/files/parquet.ts'
import { type ClickHouseCluster, startCluster } from '../../clickhouse/cluster.ts'
import { hasClickHouse } from '../../clickhouse/library.ts'
import { clientOf, insertRows, makeTables } from '../../clickhouse/rows.ts'
import { CONTEXT } from '../../hogql/engine.ts'
import { rejectionOf } from '../../rejection.ts'
import { NO_LOG } from '../../snapshots/snapshot-world.ts'
import { World } from '../world.ts'

const LIMITS: ClickHouseLimits = {
  running_max: 2,
  waiting_max: 4,
  memory_bytes_max: 1_000_000_000,
  rows_read_max: 1_000_000_000,
  result_bytes_max: 1_000_000,
  spill_mb: 1000,
}

function plainQuery(sql: string, more: Partial<WorkerQuery> = {}): WorkerQuery {
  return {
    project_id: 1,
    sql,
    values: [],
    types: ['UInt64'],
    reads: NO_READS,
    timezone: 'UTC',
    rows_max: 100,
    more_is_too_many: false,
    ...more,
  }
}

/** Computes for hours, and reads few rows. */
const COMPUTING =
  'SELECT sum(sipHash64(a.number + b.number)) FROM numbers(1000000) AS a CROSS JOIN numbers(1000000) AS b'
/** Reads few rows, and waits a twentieth of a second at each: for hours. */
const WITHOUT_END =
  'SELECT sum(sleepEachRow(0.05)) FROM numbers(1000000) SETTINGS max_block_size = 1'

describe.skipIf(!hasClickHouse())('the engine that asks ClickHouse', () => {
  let cluster: ClickHouseCluster
  let engine: ClickHouseEngine
  let world: World
  let folding: QueryEngine

  /** The lines of its log go to `lines`. */
  const engineWith = (
    limits: Partial<ClickHouseLimits> = {},
    access: Partial<ClickHouseClient['access']> = {},
    lines: unknown[] = [],
  ): ClickHouseEngine =>
    new ClickHouseEngine({
      reader: new ClickHouseClient({ ...clientOf(cluster, 0, 'queries').access, ...access }),
      writer: clientOf(cluster),
      limits: { ...LIMITS, ...limits },
      folding,
      data_dir: world.data_dir,
      log: {
        error: (fields, message) => lines.push([message, fields]),
        info: (fields, message) => lines.push([message, fields]),
      },
    })
  const rowsOf = async (query: WorkerQuery, timeout_ms = 30_000): Promise<unknown> => {
    const { rows_json } = await engine.run(query, { timeout_ms })
    return JSON.parse(Buffer.from(rows_json).toString())
  }
  const running = async (): Promise<number> =>
    Number(
      await clientOf(cluster).run("SELECT count() FROM system.processes WHERE user = 'queries'"),
    )
  const untilNoneRuns = async (): Promise<void> => {
    for (let tries = 0; tries < 200 && (await running()) > 0; tries += 1) await Bun.sleep(50)
    expect(await running()).toBe(0)
  }

  beforeAll(async () => {
    cluster = await startCluster()
    await makeTables(cluster)
    await insertRows(clientOf(cluster), 'events', [
      {
        project_id: 1,
        seq: 1,
        uuid: '018e0000-0000-7000-8000-000000000001',
        event: 'signup',
        distinct_id: 'a',
        person_id: '00000000-0000-4000-8000-000000000001',
        timestamp: '2024-03-31 00:30:00.250000',
        rest: { plan: 'pro', price: '9007199254740993' },
        properties: '{"plan":"pro","price":9007199254740993}',
      },
    ])
    world = new World()
    folding = world.openFoldingEngine()
    engine = engineWith()
  }, 120_000)

  afterAll(async () => {
    engine?.close()
    await world?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  test('answers a compiled query with times in the project’s zone and every digit of a number', async () => {
    const timezone = 'Europe/Berlin'
    const text =
      "select timestamp, [timestamp], (event, timestamp), properties.plan, toUInt64(18446744073709551615), 1 / 0, properties from events where timestamp > '2024-03-31 01:00:00'"
    const compiled = compileHogQL(text, { ...CONTEXT, timezone }, clickhouseDialect(PLAIN_STATE))
    const answer = await engine.run(
      {
        ...plainQuery(compiled.sql),
        types: compiled.types,
        timezone,
        values: compiled.values.map(({ type, value }) => ({ type, text: String(value) })),
      },
      { timeout_ms: 30_000 },
    )
    expect(Buffer.from(answer.rows_json).toString()).toBe(
      '[["2024-03-31T01:30:00.250000+01:00",["2024-03-31T01:30:00.250000+01:00"],["signup","2024-03-31T01:30:00.250000+01:00"],"pro",18446744073709551615,null,"{\\"plan\\":\\"pro\\",\\"price\\":9007199254740993}"]]',
    )
    expect(answer.row_count).toBe(1)
    expect(answer.has_more).toBe(false)
  })

  test('writes instants that are keys of a map in the zone of their type', async () => {
    const sql = "SELECT map(toDateTime64('2024-03-31 00:30:00.25', 6, 'UTC'), toDate('2024-03-31'))"
    const types = ["Map(DateTime64(6, 'Europe/Berlin'), Date)"]
    expect(await rowsOf(plainQuery(sql, { types }))).toEqual([
      [{ '2024-03-31T01:30:00.250000+01:00': '2024-03-31' }],
    ])
  })

  test('gives the plan of a statement, and none of its rows', async () => {
    const sql = 'SELECT event, properties FROM events WHERE event = {p1:String} ORDER BY timestamp'
    const values = [{ type: 'VARCHAR', text: 'signup' }]
    const plan = plainQuery(sql, { values, types: ['String', 'String'], is_plan: true })
    expect(await rowsOf(plan)).toEqual([['plan', expect.stringMatching(/Sort[^]*ReadFromMerge/)]])
    const gathers = [{ sql, values }]
    expect(await rowsOf({ ...plan, sql: 'select 1', gathers })).toEqual(await rowsOf(plan))
  })

  test('asks statements that are longer than a field of a form, whatever their characters', async () => {
    const numbers = Array.from({ length: 100_000 }, (_, index) => 100_000 + index)
    expect(await rowsOf(plainQuery(`SELECT length([${numbers.join(', ')}])`))).toEqual([[100_000]])
    const sql = `SELECT lengthUTF8('x${'😀'.repeat(60_000)}'), lengthUTF8('${'😀'.repeat(60_000)}')`
    expect(await rowsOf(plainQuery(sql, { types: ['UInt64', 'UInt64'] }))).toEqual([
      [60_001, 60_000],
    ])
  })

  test('refuses more texts than ClickHouse takes', async () => {
    const values = Array.from({ length: 1200 }, (_, index) => ({
      type: 'VARCHAR',
      text: `t${index}`,
    }))
    const sql = `SELECT 't7' IN (${values.map((_, index) => `{p${index + 1}:String}`).join(', ')})`
    expect(await rejectionOf(rowsOf(plainQuery(sql, { values })))).toMatchObject({
      code: 'query_too_large',
      detail: expect.stringContaining('more different texts than ClickHouse takes'),
    })
  })

  test('says that there is more than a page, or refuses when all were wanted', async () => {
    const sql = 'SELECT number FROM numbers(5)'
    const page = await engine.run(plainQuery(sql, { rows_max: 3 }), { timeout_ms: 30_000 })
    expect([page.row_count, page.has_more]).toEqual([3, true])
    expect(Buffer.from(page.rows_json).toString()).toBe('[[0],\n[1],\n[2]]')
    expect(
      await rejectionOf(rowsOf(plainQuery(sql, { rows_max: 3, more_is_too_many: true }))),
    ).toMatchObject({
      code: 'query_too_large',
    })
  })

  test('streams CSV and NDJSON in parts without a cap on bytes', async () => {
    for (const form of ['csv', 'ndjson'] as const) {
      let bytes = 0
      let head = ''
      const answer = await engine.run(
        plainQuery("SELECT number, repeat('x', 90) FROM numbers(100000)", {
          types: ['UInt64', 'String'],
          rows_max: 100_000,
          parts: { form, columns: ['n', 'text'] },
        }),
        {
          timeout_ms: 60_000,
          onPart: async (part) => {
            if (bytes === 0) head = Buffer.from(part).toString().slice(0, 30)
            bytes += part.length
          },
        },
      )
      expect(answer.row_count).toBe(100_000)
      expect(bytes).toBeGreaterThan(9_000_000)
      expect(head).toStartWith(form === 'csv' ? 'n,text\r\n0,xxx' : '{"n":0,"text":"xxx')
    }
  })

  test.each([
    [
      'more bytes than an answer has',
      "SELECT repeat('x', 1000) FROM numbers(10000)",
      'query_too_large',
    ],
    [
      'an exception after the first rows',
      'SELECT throwIf(number > 200000) FROM numbers(1000000)',
      'query_failed',
    ],
    ['a statement that this program should not have printed', 'SELECT (', undefined],
    [
      'memory',
      'SELECT length(groupArray(repeat(toString(number), 100))) FROM numbers(100000000)',
      'query_memory',
    ],
    ['a type that does not fit', "SELECT toInt64('x') FROM numbers(1)", 'query_failed'],
    ['a function that is missing', 'SELECT no_such_function(1)', 'query_failed'],
  ])('refuses %s with our code', async (_, sql, code) => {
    const query = plainQuery(sql, { rows_max: 1_000_000 })
    const asked = engineWith({ memory_bytes_max: 200_000_000 }).run(query, { timeout_ms: 60_000 })
    const error = await asked.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    if (code === undefined) expect(error).toMatchObject({ name: 'EngineFault' })
    else expect(error).toMatchObject({ name: 'Refusal', code })
  })

  test.each([
    [
      'a fault of the query',
      "SELECT toInt64(if(number < 300000, '1', 'x')), 'Code: 1' FROM numbers(400000)",
      { name: 'Refusal', code: 'query_failed' },
      ['Int64', 'String'],
    ],
    [
      'a condition of throwIf',
      'SELECT throwIf(number > 300000), 1 FROM numbers(400000)',
      { name: 'Refusal', detail: 'throwIf found its condition to be true.' },
      ['Int64', 'String'],
    ],
    [
      'a fault of one column of numbers',
      "SELECT toInt64(if(number < 400000, '1', 'x')) FROM numbers(500000)",
      { name: 'Refusal', code: 'query_failed' },
      ['Int64'],
    ],
    [
      'a condition in one column of texts that look like exceptions',
      "SELECT if(throwIf(number > 400000) = 0, 'Code: 1. DB::Exception: no', '') AS `a\\\\\":b` FROM numbers(500000)",
      { name: 'Refusal', detail: 'throwIf found its condition to be true.' },
      ['String'],
    ],
  ] as const)(
    'says why a stream broke off: %s',
    async (_, sql, why, types) => {
      for (const form of ['csv', 'ndjson'] as const) {
        const query = plainQuery(sql, {
          rows_max: 100_000_000,
          types,
          parts: { form, columns: ['n', 'text'].slice(0, types.length) },
        })
        const countParts = async (): Promise<number> => {
          let parts = 0
          const asked = engine.run(query, {
            timeout_ms: 60_000,
            // A reader that is slower than the server.
            onPart: async () => {
              parts += 1
              await Bun.sleep(20)
            },
          })
          expect(await rejectionOf(asked)).toMatchObject(why)
          return parts
        }
        // On a busy machine the server may fail before the first part is read: then nothing broke off.
        while ((await countParts()) === 0) await Bun.sleep(20)
      }
    },
    60_000,
  )

  test('streams one column under any name, whatever its texts look like', async () => {
    const names = ['exception', 'a":b', '{"exception":', '\\']
    for (const name of names) {
      let text = ''
      const sql = `SELECT ['x', 'Code', '}', '{"exception":"Code: 1"}', ''][number + 1] AS \`${name.replaceAll('\\', '\\\\')}\` FROM numbers(5)`
      const query = plainQuery(sql, {
        types: ['String'],
        parts: { form: 'csv', columns: ['c'] },
      })
      await engine.run(query, {
        timeout_ms: 30_000,
        onPart: async (part) => void (text += Buffer.from(part).toString()),
      })
      expect([name, text]).toEqual([
        name,
        'c\r\nx\r\nCode\r\n}\r\n"{""exception"":""Code: 1""}"\r\n\r\n',
      ])
    }
  })

  test.each(['arrow', 'parquet'] as const)(
    'says why there is no %s file before its first byte, since its rows are gathered first',
    async (form) => {
      let parts = 0
      const sql = 'SELECT throwIf(number > 400000) AS n FROM numbers(500000)'
      const query = plainQuery(sql, {
        file_statement: {
          sql: 'select n from read_parquet($1)',
          values: [{ type: 'FILE', text: '0' }],
        },
        parts: { form, columns: ['n'] },
      })
      const asked = engine.run(query, { timeout_ms: 60_000, onPart: async () => void (parts += 1) })
      expect(await rejectionOf(asked)).toMatchObject({
        name: 'Refusal',
        detail: 'throwIf found its condition to be true.',
      })
      expect(parts).toBe(0)
    },
  )

  test('refuses a query that reads more rows than it may', async () => {
    const asked = engineWith({ rows_read_max: 1000 }).run(
      plainQuery('SELECT max(number) FROM numbers(100000)'),
      {
        timeout_ms: 30_000,
      },
    )
    expect(await rejectionOf(asked)).toMatchObject({ code: 'query_too_large' })
  })

  test('stops a query in ClickHouse when it takes too long, is cancelled, or its reader wants no more', async () => {
    expect(await rejectionOf(engine.run(plainQuery(COMPUTING), { timeout_ms: 300 }))).toMatchObject(
      {
        code: 'query_timeout',
      },
    )
    await untilNoneRuns()
    const leaving = new AbortController()
    const asked = engine.run(plainQuery(WITHOUT_END), {
      timeout_ms: 60_000,
      signal: leaving.signal,
      onBegin: () => setTimeout(() => leaving.abort(), 300),
    })
    expect(await rejectionOf(asked)).toMatchObject({ code: 'query_cancelled' })
    await untilNoneRuns()
    const parts = { form: 'ndjson', columns: ['n'] } as const
    const long = plainQuery('SELECT number FROM numbers(900000000)', { rows_max: 3, parts })
    expect(await rejectionOf(engine.run(long, { timeout_ms: 60_000 }))).toMatchObject({
      code: 'query_too_large',
    })
    await untilNoneRuns()
  }, 60_000)

  test('keeps a place for another project while one fills the queue', async () => {
    const leaving = new AbortController()
    const options = { timeout_ms: 60_000, signal: leaving.signal }
    const many = Array.from({ length: 6 }, () => engine.run(plainQuery(WITHOUT_END), options))
    const ends = Promise.allSettled(many)
    expect(await rejectionOf(engine.run(plainQuery('SELECT 1'), options))).toMatchObject({
      code: 'throttled',
    })
    expect(await rowsOf(plainQuery('SELECT 7', { project_id: 2 }))).toEqual([[7]])
    leaving.abort()
    for (const end of await ends) expect(end).toMatchObject({ reason: { code: 'query_cancelled' } })
    expect(engine.load).toEqual({ running: 0, waiting: 0 })
    await untilNoneRuns()
  }, 60_000)

  describe('folding what ClickHouse gathers', () => {
    const spec = JSON.stringify({
      order: 'ordered',
      step_count: 1,
      packed_steps: 1,
      bits: 1,
      window_us: 1,
      optional: 0,
      attribution_step: null,
      valued: 0,
      from_step: 0,
      buckets: [],
    })
    const folded = `select funnel_steps(actor_timeline(0, 0)(timestamp, event = 'signup'), '${spec}')[1] as furthest, distinct_id
      from events group by distinct_id order by distinct_id`
    const queryOf = (text: string): WorkerQuery => {
      const compiled = compileHogQL(text, CONTEXT, clickhouseDialect(PLAIN_STATE))
      return workerQuery(compiled, { project: { id: 1 }, rows_max: 100 })
    }
    const filesLeft = (): readonly string[] => [
      ...new Bun.Glob('**/*.parquet').scanSync(gatheredFolder(world.data_dir)),
    ]

    test('answers from its rows, and leaves no file behind', async () => {
      expect(await rowsOf(queryOf(folded))).toEqual([[0, 'a']])
      expect(filesLeft()).toEqual([])
    }, 60_000)

    test('refuses more than it may fold, in words', async () => {
      const [gather] = queryOf(folded).gathers ?? []
      expect(gather).toBeDefined()
      const sql =
        'SELECT repeat(toString(number % 9), 100000) AS c1 FROM numbers(6500) SETTINGS max_block_size = 100'
      const query = plainQuery('SELECT 1', { gathers: [{ sql, values: [] }] })
      const ample = engineWith({ memory_bytes_max: 3_000_000_000 })
      expect(await rejectionOf(ample.run(query, { timeout_ms: 60_000 }))).toMatchObject({
        code: 'query_too_large',
        detail:
          'Funnels, paths and other folds take about 20000000 events at most. Choose a shorter range or fewer events.',
      })
      expect(filesLeft()).toEqual([])
    }, 60_000)

    test('stops in ClickHouse, and here, when it is cancelled', async () => {
      const leaving = new AbortController()
      const gathers = [{ sql: WITHOUT_END.replace('sum(', 'sum(1 + '), values: [] }]
      const asked = engine.run(plainQuery('SELECT 1', { gathers }), {
        timeout_ms: 60_000,
        signal: leaving.signal,
      })
      for (let tries = 0; tries < 400 && (await running()) === 0; tries += 1) await Bun.sleep(25)
      leaving.abort()
      expect(await rejectionOf(asked)).toMatchObject({ code: 'query_cancelled' })
      await untilNoneRuns()
      expect(filesLeft()).toEqual([])
    }, 60_000)

    test('refuses an exception inside of the gathered rows with our code', async () => {
      const sql = 'SELECT throwIf(number > 3000000) AS c1 FROM numbers(4000000)'
      const asked = engine.run(plainQuery('SELECT 1', { gathers: [{ sql, values: [] }] }), {
        timeout_ms: 60_000,
      })
      expect(await asked.then(null, (error: unknown) => error)).toMatchObject({
        name: 'Refusal',
        code: 'query_failed',
      })
      expect(filesLeft()).toEqual([])
    }, 60_000)
  })

  test('says that ClickHouse cannot be reached', async () => {
    const unreached = engineWith({}, { url: 'http://127.0.0.1:1' })
    expect(
      await rejectionOf(unreached.run(plainQuery('SELECT 1'), { timeout_ms: 30_000 })),
    ).toMatchObject({ code: 'storage_unavailable', retry_after_s: 5 })
  })

  // A proxy, or the sign-in page of a network.
  test.each([
    [502, '<html>502 Bad Gateway</html>'],
    [200, ''],
    [200, '<html>Sign in</html>'],
    [200, '[1]\n'],
    [204, null],
  ])('says the same where another server answers in its place: %d, %p', async (status, body) => {
    using proxy = Bun.serve({ port: 0, fetch: () => new Response(body, { status }) })
    const unreached = engineWith({}, { url: proxy.url.origin })
    const sql = 'SELECT 1'
    const parts = { form: 'csv', columns: ['n'] } as const
    const gathers = [{ sql, values: [] }]
    for (const more of [{}, { parts }, { gathers }, { is_plan: true } as const])
      expect(
        await rejectionOf(unreached.run(plainQuery(sql, more), { timeout_ms: 30_000 })),
      ).toMatchObject({ code: 'storage_unavailable', retry_after_s: 5 })
  })

  const OTHERS: Partial<ClickHouseLimits> = {}

  test.each([
    ['a wrong password', OTHERS, { password: 'wrong' }, 'events', 516],
    ['a missing user', OTHERS, { user: 'nobody' }, 'events', 516],
    ['a missing database', OTHERS, { database: 'nowhere' }, 'events', 81],
    ['a missing table', OTHERS, {}, 'no_events', 60],
    ['a missing right', OTHERS, {}, 'system.parts', 497],
    ['a limit that the user may not have', { memory_bytes_max: 9e9 }, {}, 'events', 452],
  ] as const)(
    'says that ClickHouse refuses queries, and logs why once: %s',
    async (_, limits, access, table, code) => {
      const lines: unknown[] = []
      const refused = engineWith(limits, access, lines)
      const sql = `SELECT count() FROM ${table} WHERE 'private@example.com' = {p1:String}`
      const query = plainQuery(sql, { values: [{ type: 'VARCHAR', text: 'private@example.com' }] })
      for (let times = 0; times < 3; times += 1)
        expect(await rejectionOf(refused.run(query, { timeout_ms: 30_000 }))).toMatchObject({
          code: 'storage_unavailable',
          detail: 'ClickHouse refuses queries. The log of the server has the reason.',
          retry_after_s: 5,
        })
      expect(lines).toEqual([
        ['ClickHouse does not answer queries', { err: expect.objectContaining({ code }) }],
      ])
      const [[, { err }]] = lines as [[string, { err: Error }]]
      expect(err.message).toStartWith(`Code: ${code}. DB::Exception: `)
      expect(err.message).not.toContain('private')
    },
  )

  test('logs each reason once a minute, and the first answer after it', async () => {
    const lines: unknown[] = []
    let way: 'answer' | 'break' | 'refuse' = 'refuse'
    using proxy = Bun.serve({
      port: 0,
      fetch: async ({ url, headers, body }) => {
        if (way === 'break') return new Response('', { status: 502 })
        headers.set('accept-encoding', 'identity')
        if (way === 'refuse') headers.set('X-ClickHouse-Key', 'wrong')
        return fetch(`${cluster.url}${url.slice(url.indexOf('/?'))}`, {
          method: 'POST',
          headers,
          body,
        })
      },
    })
    const asking = engineWith({}, { url: proxy.url.origin }, lines)
    const ask = async (): Promise<unknown> =>
      asking.run(plainQuery('SELECT 1'), { timeout_ms: 30_000 }).catch(() => null)
    for (const next of ['refuse', 'break', 'refuse', 'break', 'answer', 'answer'] as const) {
      way = next
      await ask()
    }
    const messages = lines.map((line) => (line as [string])[0])
    expect(messages).toEqual([
      'ClickHouse does not answer queries',
      'ClickHouse does not answer queries',
      'ClickHouse answers queries again',
    ])
  })
})

describe.skipIf(!hasClickHouse())('the engine that asks two shards', () => {
  test.each([
    [0, 'ClickHouse cannot be reached now.'],
    [1, 'A part of the events cannot be read now.'],
  ])(
    'says so when server %d is killed while it answers: %s',
    async (killed, detail) => {
      await using cluster = await startCluster(2)
      await makeTables(cluster)
      await using world = new World()
      const engine = new ClickHouseEngine({
        reader: clientOf(cluster, 0, 'queries'),
        writer: clientOf(cluster),
        limits: LIMITS,
        folding: world.openFoldingEngine(),
        data_dir: world.data_dir,
        log: NO_LOG,
      })
      for (const shard of [0, 1])
        await clientOf(cluster, shard).run(
          `INSERT INTO events_local (project_id, seq, timestamp) SELECT 1, number, '2024-03-31 00:30:00' FROM numbers(2000)`,
        )
      const sql = `SELECT sum(sleepEachRow(0.05)), sum(sipHash64(seq + b.number)) FROM events AS a
CROSS JOIN (SELECT number FROM numbers(2000000)) AS b SETTINGS max_block_size = 1`
      const asked = rejectionOf(engine.run(plainQuery(sql), { timeout_ms: 60_000 }))
      const there = clientOf(cluster, 1)
      const isAsked = async (): Promise<boolean> =>
        Number(await there.run('SELECT count() FROM system.processes WHERE NOT is_initial_query')) >
        0
      while (!(await isAsked())) await Bun.sleep(20)
      await cluster.server(killed).kill()
      expect(await asked).toMatchObject({ code: 'storage_unavailable', detail })
      await cluster.server(killed).start()
      const counted = await engine.run(plainQuery('SELECT count() FROM events'), {
        timeout_ms: 60_000,
      })
      expect(Buffer.from(counted.rows_json).toString()).toBe('[[4000]]')
      engine.close()
    },
    120_000,
  )
})
