/** Answers in parts, and how far a query is: what the engine does beside plain answers. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { EngineFault } from '../../src/query/engine/engine-refusals.ts'
import type { QueryProgressCounts, RowForm } from '../../src/query/engine/protocol.ts'
import { TEXT_FORMS } from '../../src/query/engine/text-forms.ts'
import { engineRefusal } from '../../src/query/worker/engine-errors.ts'
import { ask, query, refusal, World } from './world.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const AMPLE_MS = 60_000
const COUNT = 'select count(*) from events_of($1)'

const inParts = (sql: string, form: RowForm, columns: readonly string[], rows_max = 1_000_000) =>
  query(sql, { parts: { form, columns }, rows_max })

const world = new World()
const engine = world.openEngine({ threads: 1 })
afterAll(() => world[Symbol.asyncDispose]())

describe('an answer in parts', () => {
  test('has all rows in order, however many parts it takes', async () => {
    const texts: string[] = []
    const sql = `select a, repeat('x', 100) from range(50000) t(a) where $1 = 1 order by a`
    const answer = await engine.run(inParts(sql, 'csv', ['a', 'x']), {
      timeout_ms: AMPLE_MS,
      onPart: async (bytes) => void texts.push(Buffer.from(bytes).toString()),
    })
    expect(answer).toMatchObject({ row_count: 50_000, has_more: false })
    expect(texts.length).toBeGreaterThan(10)
    const lines = texts.join('').split('\r\n')
    expect(lines).toHaveLength(50_002)
    expect([lines[0], lines[1], lines[50_000], lines[50_001]]).toEqual([
      'a,x',
      `0,${'x'.repeat(100)}`,
      `49999,${'x'.repeat(100)}`,
      '',
    ])
  })

  test('is not made faster than it is taken', async () => {
    let taken = 0
    const open = Promise.withResolvers<void>()
    const answered = engine.run(
      inParts(`select repeat('x', 1000) from range(20000) where $1 = 1`, 'ndjson', ['x']),
      {
        timeout_ms: AMPLE_MS,
        onPart: async () => {
          taken += 1
          await open.promise
        },
      },
    )
    await until(() => taken === 4)
    // Whatever else is asked meanwhile is answered, and no fifth part comes.
    expect(await ask(engine, COUNT)).toEqual([[0]])
    expect(taken).toBe(4)
    expect(engine.state.running).toBe(1)
    open.resolve()
    expect((await answered).row_count).toBe(20_000)
    expect(taken).toBeGreaterThan(8)
  })

  test('ends for an asker who leaves in the middle, and leaves the engine free', async () => {
    const { processes_started } = engine.state
    const leave = new AbortController()
    const never = Promise.withResolvers<void>()
    const asked = engine.run(
      inParts(`select repeat('x', 1000) from range(20000) where $1 = 1`, 'ndjson', ['x']),
      {
        timeout_ms: AMPLE_MS,
        signal: leave.signal,
        onPart: () => {
          leave.abort()
          return never.promise
        },
      },
    )
    expect(await refusal(asked)).toBe('query_cancelled: The query was cancelled.')
    expect(await ask(engine, COUNT)).toEqual([[0]])
    await until(() => engine.state.running === 0)
    expect(engine.state.processes_started).toBe(processes_started)
  })

  test('is refused when it gets too long, instead of being cut short', async () => {
    const rows = inParts('select a from range(20000) t(a) where $1 = 1', 'ndjson', ['a'], 19_999)
    const asked = engine.run(rows, { timeout_ms: AMPLE_MS, onPart: async () => undefined })
    expect(await refusal(asked)).toStartWith('query_too_large: The answer has more than 19999 rows')
  })
})

describe('an error behind the first rows', () => {
  const failing = (at: number) =>
    `select if(a = ${at}, error('no'), repeat('x', 20)) from range(400000) t(a) where $1 = 1`
  const TOLD = 'query_failed: The query failed while its rows were read.'

  test('is no end of the answer', async () => {
    const roomy = world.openEngine({ threads: 1, result_bytes_max: 64_000_000 })
    const all = { rows_max: 1_000_000 }
    expect(await refusal(ask(roomy, failing(390_000), all))).toBe(TOLD)
    expect(await ask(roomy, failing(400_000), all)).toHaveLength(400_000)
  })

  test('is no end of its parts', async () => {
    let taken = 0
    const asked = engine.run(inParts(failing(390_000), 'csv', ['a']), {
      timeout_ms: AMPLE_MS,
      onPart: async () => void (taken += 1),
    })
    expect(await refusal(asked)).toBe(TOLD)
    expect(taken).toBeGreaterThan(0)
  })
})

describe('a row', () => {
  test.each([
    [['1', '"a"', 'null', 'true'], '1,a,,true\r\n'],
    [['"a,b"', '"say \\"hi\\""', '"two\\nlines"'], '"a,b","say ""hi""","two\nlines"\r\n'],
    [['["a",1]', '{"k":null}'], '"[""a"",1]","{""k"":null}"\r\n'],
    [['"=1+1"', '"+cmd"', '"-2+3"', '"@sum"', '"\\tx"'], "'=1+1,'+cmd,'-2+3,'@sum,'\tx\r\n"],
    [['-5', '"-5"', '"+1.5e3"', '"-"'], "-5,-5,+1.5e3,'-\r\n"],
  ])('of %j is the CSV %j', (values, line) => {
    expect(TEXT_FORMS.csv([]).row(values)).toBe(line)
  })

  test('of NDJSON is an object of its columns', () => {
    const { head, row } = TEXT_FORMS.ndjson(['a', 'count()', 'say "hi"'])
    expect(head).toBe('')
    const text = row(['1', 'null', '["x"]'])
    expect(JSON.parse(text)).toEqual({ a: 1, 'count()': null, 'say "hi"': ['x'] })
    expect(text).toEndWith('}\n')
  })

  test('of CSV is headed by the names of its columns', () => {
    expect(TEXT_FORMS.csv(['a', '=b', 'c,d']).head).toBe('a,\'=b,"c,d"\r\n')
  })
})

describe('a running query', () => {
  test('tells how far it is', async () => {
    await ask(engine, COUNT)
    const stop = new AbortController()
    const begun = Promise.withResolvers<() => Promise<QueryProgressCounts | null>>()
    const sql = `select count(*) from range(10000000) t(a), range(10000000) u(b)
      where (a * b) % 7 = 8 and $1 = 1`
    const asked = refusal(
      engine.run(query(sql), {
        timeout_ms: AMPLE_MS,
        signal: stop.signal,
        onBegin: begun.resolve,
      }),
    )
    const probe = await begun.promise
    let progress: QueryProgressCounts | null = null
    while (progress === null || progress.rows_total === 0) {
      await Bun.sleep(5)
      progress = await probe()
    }
    expect(progress.rows_total).toBeGreaterThanOrEqual(progress.rows_read)
    expect(progress.elapsed_ms).toBeGreaterThan(0)
    stop.abort()
    expect(await asked).toStartWith('query_cancelled')
    await until(() => engine.state.running === 0)
    expect(await probe()).toBeNull()
  })

  test('may wait beyond the queue when its asker is patient', async () => {
    const narrow = world.openEngine({ running_max: 1, waiting_max: 0 })
    const patient = { timeout_ms: AMPLE_MS, is_background: true }
    const asked = [patient, patient, { timeout_ms: AMPLE_MS }].map((options) =>
      refusal(narrow.run(query(COUNT), options)),
    )
    expect(await Promise.all(asked)).toEqual([
      'answered',
      'answered',
      'throttled: Too many queries are waiting. Try again soon.',
    ])
  })
})

describe('a fault of the engine', () => {
  test.each([
    ['INTERNAL Error: Attempted to access index 3 within vector of size 2'],
    ['FATAL Error: Failed: database has been invalidated'],
  ])('is no refusal: %s', (message) => {
    expect(engineRefusal(new Error(message))).toEqual({ code: 'engine_fault', detail: message })
    expect(new EngineFault(message)).toBeInstanceOf(Error)
  })
})

test('words of the engine that say nothing to a caller are replaced by ours', () => {
  expect(
    engineRefusal(new Error('Out of Range Error: Overflow in multiplication of INT64')),
  ).toEqual({
    code: 'query_failed',
    detail: 'A number or a time of the query goes beyond the range of its type.',
  })
  expect(engineRefusal(new Error('Binder Error: No function matches f(INTEGER)'))).toEqual({
    code: 'query_failed',
    detail: 'The query uses a function or an operator with types that it does not take.',
  })
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5)
}
