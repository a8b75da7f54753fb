/** The query process with real children: fresh answers, runaway and murderous queries, the sandbox, the queue. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, deafQuery, idOf, MARCH_US, query, refusal, World } from '../world.ts'

setDefaultTimeout(120_000)

const COUNT = 'select count(*) from events_of($1)'
/** Interrupted between two vectors. */
const LONG = 'select count(*) from range(1000000000000) t(a) where a % 3 = $1'
/** Runs until it is interrupted, and takes no processor time. */
const SLEEPING = 'select sleep_ms(600000), $1'
/** Ends the process with SIGSEGV. */
const DEADLY = `select json_structure(repeat('[', 300000) || repeat(']', 300000)), $1`

describe('the query engine', () => {
  // One process answers the tests that leave it as it is; nothing is sent to project 1.
  const world = new World()
  const engine = world.openEngine()
  /** Filling half a gigabyte takes four seconds of processor time. */
  const small = world.openEngine({ memory_mb: 64 })
  afterAll(() => world[Symbol.asyncDispose]())

  test('answers with what was committed before the query, each time', async () => {
    const project_id = 11
    expect(await ask(engine, COUNT, { project_id })).toEqual([[0]])
    for (let sent = 1; sent <= 20; sent++) {
      world.send({ project_id, distinct_id: `user ${sent}` })
      expect(await ask(engine, COUNT, { project_id })).toEqual([[sent]])
    }
  })

  test('gives every column of an event back as it was stored', async () => {
    world.send({
      project_id: 12,
      uuid: idOf(7),
      event: 'quote " \u0000 \u2028 \ud83d\ude00',
      distinct_id: "o'brien",
      person_id: idOf(8),
      person_mode: 'propertyless',
      timestamp: MARCH_US + 123_456,
      created_at: -1,
      properties: '{"a":{"b":[1,"x"]}}',
      elements_chain: 'button.primary:text="go"',
      groups: ['acme', null, '', null, 'e'],
    })
    const all = 'select * exclude (p_rest) from events_of($1)'
    expect(await ask(engine, all, { project_id: 12 })).toEqual([
      [
        expect.any(Number),
        '00000000-0000-0000-0000-000000000007',
        'quote " \u0000 \u2028 \ud83d\ude00',
        "o'brien",
        '00000000-0000-0000-0000-000000000008',
        'propertyless',
        '2024-03-01T00:00:00.123456Z',
        '1969-12-31T23:59:59.999999Z',
        '{"a":{"b":[1,"x"]}}',
        'button.primary:text="go"',
        'acme',
        null,
        '',
        null,
        'e',
      ],
    ])
  })

  test('keeps persons, ids, overrides and groups equal to their originals', async () => {
    const { db } = world.log
    const read = async (): Promise<unknown> => ({
      persons: await ask(
        engine,
        'select id, created_at, properties, is_identified, version from persons_of($1) order by id',
      ),
      ids: await ask(
        engine,
        'select distinct_id, person_id, version from person_distinct_ids_of($1) order by 1',
      ),
      overrides: await ask(engine, 'select * from person_overrides_of($1) order by 1'),
      groups: await ask(engine, 'select * from groups_of($1) order by 1, 2'),
    })
    const write = (sql: string, ...values: (Uint8Array | number | string)[]): void =>
      world.log.transact(() => {
        db.query(sql).run(...values, world.log.nextChange())
      })
    const person = (id: number, text: string, version: number, deleted: number): void =>
      write(
        `insert or replace into persons
          (project_id, id, created_at, properties, is_identified, version, is_deleted, change)
          values (1, ?, ?, ?, 1, ?, ?, ?)`,
        idOf(id),
        MARCH_US,
        text,
        version,
        deleted,
      )
    person(1, '{"n":1}', 0, 0)
    person(2, '{}', 0, 0)
    write(
      'insert into distinct_ids (project_id, distinct_id, person_id, version, change) values (1, ?, ?, 0, ?)',
      'ann',
      idOf(1),
    )
    write(
      'insert into distinct_ids (project_id, distinct_id, person_id, version, change) values (2, ?, ?, 0, ?)',
      'other',
      idOf(1),
    )
    write('insert into groups values (1, 0, ?, 0, 0, ?, ?, 0)', 'acme', '{"seats":3}')
    expect(await read()).toEqual({
      persons: [
        ['00000000-0000-0000-0000-000000000001', '2024-03-01T00:00:00Z', '{"n":1}', true, 0],
        ['00000000-0000-0000-0000-000000000002', '2024-03-01T00:00:00Z', '{}', true, 0],
      ],
      ids: [['ann', '00000000-0000-0000-0000-000000000001', 0]],
      overrides: [],
      groups: [[0, 'acme', '1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '{"seats":3}']],
    })
    person(1, '{"n":2}', 1, 0)
    person(2, '{}', 1, 1)
    write(
      'update distinct_ids set person_id = ?, version = 1, change = ? where project_id = 1',
      idOf(2),
    )
    write('insert into person_overrides values (1, ?, ?, ?)', idOf(2), idOf(1))
    write('update groups set properties = ?, change = ?', '{"seats":4}')
    expect(await read()).toEqual({
      persons: [
        ['00000000-0000-0000-0000-000000000001', '2024-03-01T00:00:00Z', '{"n":2}', true, 1],
      ],
      ids: [['ann', '00000000-0000-0000-0000-000000000002', 1]],
      overrides: [['00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000001']],
      groups: [[0, 'acme', '1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '{"seats":4}']],
    })
  })

  test('interrupts a query at its time limit and answers the next in the same process', async () => {
    await ask(engine, COUNT)
    const { pid } = engine.state
    const asked = engine.run(query(LONG), { timeout_ms: 300 })
    expect(await refusal(asked)).toBe('query_timeout: The query took longer than 0.3 seconds.')
    expect(await ask(engine, COUNT)).toEqual([[0]])
    await until(() => engine.state.running === 0)
    expect(engine.state.pid).toBe(pid)
  })

  test('interrupts a query that is still being read, without losing its process', async () => {
    await ask(engine, COUNT)
    const { processes_started } = engine.state
    const sums = Array.from({ length: 120 }, (_, index) => `sum((a % ${index + 2} = 1)::int)`)
    const sql = `select ${sums.join(', ')} from range(1000000000000) t(a) where a % 3 = $1`
    for (const pause_ms of [2, 5, 10, 20, 40]) {
      const leave = new AbortController()
      const begun = Promise.withResolvers<void>()
      const asked = engine.run(query(sql), {
        timeout_ms: 60_000,
        signal: leave.signal,
        onBegin: () => begun.resolve(),
      })
      await begun.promise
      await Bun.sleep(pause_ms)
      leave.abort()
      expect(await refusal(asked)).toContain('query_cancelled')
      while (engine.state.running > 0) await Bun.sleep(5)
    }
    expect(await ask(engine, COUNT)).toEqual([[0]])
    expect(engine.state.processes_started).toBe(processes_started)
  })

  test.each([
    [`select length(repeat('a', 2000000000)), $1`],
    ['select len(range(1000000000)), $1'],
    [`select length(replace(repeat('a', 100000), 'a', repeat('b', 10000))), $1`],
  ])('refuses what needs too much memory, in the same process: %s', async (sql) => {
    await ask(small, COUNT)
    const { pid } = small.state
    expect(await refusal(ask(small, sql))).toStartWith('query_memory: ')
    expect(await ask(small, COUNT)).toEqual([[0]])
    expect(small.state.pid).toBe(pid)
  })

  test('answers a short query beside as many long ones as may run', async () => {
    await ask(engine, COUNT)
    const stop = new AbortController()
    const options = { timeout_ms: 30_000, signal: stop.signal }
    const long = [1, 2, 3].map(() => refusal(engine.run(query(SLEEPING), options)))
    await until(() => engine.state.running === 3)
    expect(await ask(engine, COUNT)).toEqual([[0]])
    expect(engine.state.running).toBe(3)
    stop.abort()
    await Promise.all(long)
  })
})

describe('a query engine of its own', () => {
  test('kills a process that hears no interrupt, and asks the other queries again', async () => {
    await using world = new World()
    world.send({}, {})
    const engine = world.openFoldingEngine()
    await ask(engine, COUNT)
    const { pid } = engine.state
    const deaf = refusal(engine.run(query(deafQuery(world)), { timeout_ms: 300 }))
    // Still running when the process is killed, and answered by the next one.
    const other = ask(engine, `select n, sleep_ms(5000) is null from (${COUNT}) e(n)`)
    expect(await deaf).toBe('query_timeout: The query took longer than 0.3 seconds.')
    expect(await other).toEqual([[2, true]])
    expect(engine.state.pid).not.toBe(pid)
    expect(engine.state.processes_ended).toEqual({ unresponsive: 1 })
  })

  test('refuses a query that ends the process twice, and answers those that ran beside it', async () => {
    await using world = new World()
    world.send({})
    const engine = world.openEngine()
    await ask(engine, COUNT)
    const beside = [1, 2].map((n) =>
      ask(engine, `select n + ${n}, sleep_ms(2000) is null from (${COUNT}) e(n)`),
    )
    const deadly = refusal(engine.run(query(DEADLY), { timeout_ms: 30_000 }))
    expect(await deadly).toBe('query_failed: The query stopped the engine. It was tried twice.')
    expect(await refusal(ask(engine, COUNT))).toStartWith('throttled: ')
    expect(await Promise.all(beside)).toEqual([[[2, true]], [[3, true]]])
    expect(await ask(engine, COUNT, { project_id: 2 })).toEqual([[0]])
  })

  test('answers a query whose process was killed from outside', async () => {
    await using world = new World()
    world.send({})
    const engine = world.openEngine()
    await ask(engine, COUNT)
    const asked = ask(engine, `select n, sleep_ms(1000) is null from (${COUNT}) e(n)`)
    await until(() => engine.state.running === 1)
    process.kill(engine.state.pid ?? 0, 'SIGKILL')
    expect(await asked).toEqual([[1, true]])
    // One serves whatever is asked next, one runs the query that may have been the cause.
    expect(engine.state.processes_started).toBeGreaterThanOrEqual(3)
    await until(() => engine.state.processes_ended['closed'] === 1)
    expect(engine.state.processes_ended).toEqual({ died: 1, closed: 1 })
  })

  test('refuses too many rows and too many bytes, and pages where that is asked for', async () => {
    await using world = new World()
    const engine = world.openEngine({ result_bytes_max: 100_000 })
    const rows = 'select a from range(20000) t(a) where $1 = 1'
    expect(await refusal(ask(engine, rows, { rows_max: 9999 }))).toStartWith(
      'query_too_large: The answer has more than 9999 rows',
    )
    expect(await refusal(ask(engine, rows))).toStartWith(
      'query_too_large: The answer has more than 100000 bytes',
    )
    const page = query(rows, { rows_max: 5000, more_is_too_many: false })
    const answer = await engine.run(page, { timeout_ms: 30_000 })
    expect(JSON.parse(Buffer.from(answer.rows_json).toString())).toHaveLength(5000)
    expect(answer).toMatchObject({ row_count: 5000, has_more: true })
    const exact = query(`${rows} and a < 5000`, { rows_max: 5000, more_is_too_many: false })
    expect(await engine.run(exact, { timeout_ms: 30_000 })).toMatchObject({
      row_count: 5000,
      has_more: false,
    })
  })

  test('cancels for its asker, waiting or running', async () => {
    await using world = new World()
    const engine = world.openEngine({ running_max: 1 })
    await ask(engine, COUNT)
    const stop = new AbortController()
    const options = { timeout_ms: 30_000, signal: stop.signal }
    const asked = [SLEEPING, COUNT].map((sql) => refusal(engine.run(query(sql), options)))
    await until(() => engine.state.running === 1)
    stop.abort()
    expect(await Promise.all(asked)).toEqual([
      'query_cancelled: The query was cancelled.',
      'query_cancelled: The query was cancelled.',
    ])
    expect(await ask(engine, COUNT)).toEqual([[0]])
    expect(await refusal(engine.run(query(COUNT), options))).toStartWith('query_cancelled: ')
  })

  test('refuses with throttled what neither runs nor may wait', async () => {
    await using world = new World()
    const engine = world.openEngine({ running_max: 1, waiting_max: 2 })
    const asked = [1, 2, 3, 4].map(() => refusal(engine.run(query(COUNT), { timeout_ms: 30_000 })))
    expect(await Promise.all(asked)).toEqual([
      'answered',
      'answered',
      'answered',
      'throttled: Too many queries are waiting. Try again soon.',
    ])
  })

  test('ends its process when it closes, and refuses what was asked', async () => {
    await using world = new World()
    const engine = world.openEngine()
    await ask(engine, COUNT)
    const pid = engine.state.pid ?? 0
    const asked = refusal(engine.run(query(SLEEPING), { timeout_ms: 30_000 }))
    await engine.close()
    expect(await asked).toBe('storage_unavailable: The server is stopping.')
    expect(existsSync(`/proc/${pid}`)).toBe(false)
    expect(await refusal(ask(engine, COUNT))).toStartWith('storage_unavailable: ')
  })
})

describe('the query process', () => {
  test.each([
    ['between two vectors', () => LONG],
    ['in a call that hears nothing', deafQuery],
  ])('ends with its server, killed while a query is %s', async (_where, sqlOf) => {
    await using world = new World()
    const sql = sqlOf(world)
    const parent = Bun.spawn({
      cmd: [process.execPath, join(import.meta.dir, '../parent.ts'), world.data_dir, sql],
      stdout: 'pipe',
    })
    const { value } = await parent.stdout.getReader().read()
    const pid = Number(Buffer.from(value ?? []).toString())
    expect(existsSync(`/proc/${pid}`)).toBe(true)
    parent.kill('SIGKILL')
    await until(() => !isAlive(pid))
  })
})

describe('the sandbox', () => {
  // One process for all statements: what one of them changed, the others would meet.
  const shared = new World()
  const sandbox = shared.openEngine()
  shared.send({})
  afterAll(() => shared[Symbol.asyncDispose]())

  test.each([
    ['copy (select 1) to $path'],
    ['copy (select 1) to $path (format parquet, use_tmp_file false)'],
    [`attach ':memory:' as other`],
    ['attach $path as other'],
    ['create table mine as select 1'],
    ['drop table tail'],
    ['delete from tail'],
    ['insert into persons select * from persons'],
    [`set memory_limit = '8GB'`],
    ['install httpfs'],
    ['load httpfs'],
    ['pragma database_list'],
    ['call pragma_version()'],
    ['select 1; select 2'],
    ['select 1; drop table tail'],
    ['begin transaction'],
    ['explain select 1'],
    ['describe tail'],
    ['summarize tail'],
    ['show tables'],
    ['from tail'],
    ['values (1)'],
    [`prepare p as select 1`],
    [''],
    ['not sql'],
  ])('refuses what is not one SELECT: %s', async (sql) => {
    const path = join(shared.data_dir, 'stolen')
    const values = [] as const
    const told = await refusal(
      sandbox.run({ ...query(sql.replace('$path', `'${path}'`)), values }, { timeout_ms: 30_000 }),
    )
    expect(told).toStartWith('query_failed: ')
    expect(told).not.toContain(shared.data_dir)
    expect(existsSync(path)).toBe(false)
    expect(await ask(sandbox, COUNT)).toEqual([[1]])
  })

  test.each([
    [`select * from read_text('$secret'), (select $1)`],
    [`select * from read_csv('$secret'), (select $1)`],
    [`select * from sniff_csv('$secret'), (select $1)`],
    [`select * from read_blob('$secret'), (select $1)`],
    [`select * from read_json('$secret'), (select $1)`],
    [`select * from '$secret', (select $1)`],
    [`select * from glob('/*'), (select $1)`],
    [`select getenv('HOME'), $1`],
    [`select * from read_text('https://example.com/'), (select $1)`],
  ])('reads no file and no network: %s', async (sql) => {
    const secret = join(shared.data_dir, 'secret.csv')
    writeFileSync(secret, 'word\nswordfish\n')
    const told = await refusal(ask(sandbox, sql.replace('$secret', secret)))
    expect(told).toMatch(/^(query_failed|storage_unavailable): /)
    expect(told).not.toContain('swordfish')
    expect(told).not.toContain(shared.data_dir)
    expect(sandbox.state.processes_started).toBe(1)
  })

  test('shows a project only its own rows, whatever id is bound', async () => {
    shared.send({ project_id: 21 }, { project_id: 22 }, { project_id: 22 })
    expect(await ask(sandbox, COUNT, { project_id: 21 })).toEqual([[1]])
    expect(await ask(sandbox, COUNT, { project_id: 22 })).toEqual([[2]])
    const own = query(COUNT, { project_id: 21 })
    const crossed = { ...own, values: [{ type: 'BIGINT', text: '22' }] }
    const { rows_json } = await sandbox.run(crossed, { timeout_ms: 30_000 })
    expect(Buffer.from(rows_json).toString()).toBe('[[0]]')
  })

  test('shows neither rows nor paths in what it says about a failure', async () => {
    shared.send({ project_id: 31, distinct_id: 'topsecret', properties: '{"topsecret' })
    for (const sql of [
      'select distinct_id::int from events_of($1)',
      `select json_extract_string(properties, '$.a') from events_of($1)`,
    ]) {
      const told = await refusal(ask(sandbox, sql, { project_id: 31 }))
      expect(told).toStartWith('query_failed: ')
      expect(told).not.toContain('topsecret')
      expect(told).not.toContain('\n')
    }
  })
})

/** A process whose parent has died stays in the list until somebody asks for its exit code. */
function isAlive(pid: number): boolean {
  const path = `/proc/${pid}/stat`
  return existsSync(path) && !/\) Z /.test(readFileSync(path, 'latin1'))
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5)
}
