/** Rows as a stream: as fast as they are read, and not for readers who never come back. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { QueryEngine } from '../../../src/query/engine/engine.ts'
import { exportRows } from '../../../src/query/engine/exports.ts'
import { query, World } from '../world.ts'

setDefaultTimeout(60_000)

let world: World
let engine: QueryEngine
beforeAll(() => {
  world = new World()
  engine = world.openEngine()
})
afterAll(() => world[Symbol.asyncDispose]())

const ROWS = 1_000_000
const SQL = `select a, 'some text to fill the parts with' from range(${ROWS}) t(a) where $1 = 1`

async function begin(stall_ms: number, bytes_max = Number.POSITIVE_INFINITY) {
  const over = Promise.withResolvers<void>()
  const reasons: unknown[] = []
  const asked = query(SQL, { rows_max: ROWS, parts: { form: 'ndjson', columns: ['a', 'b'] } })
  const stream = await exportRows(engine, asked, {
    timeout_ms: 50_000,
    bytes_max,
    signal: new AbortController().signal,
    onEnd: over.resolve,
    onBreak: (reason) => reasons.push(reason),
    stall_ms,
  })
  return { reader: stream.getReader(), over: over.promise, reasons }
}

/** An engine that nobody frees lets the test run into its limit. */
async function untilFree(): Promise<void> {
  while (engine.state.running > 0) await Bun.sleep(1)
}

test('a reader who takes nothing gets no more, and the engine is free', async () => {
  const { reader, over } = await begin(1)
  await over
  await untilFree()
  const read = async (): Promise<string> => {
    while (!(await reader.read()).done);
    return 'whole'
  }
  // What is there may still be taken, but nobody takes it for the whole.
  expect(await read().catch((error) => error.code)).toBe('query_cancelled')
})

test('a reader who takes their time gets all of it', async () => {
  const { reader, over } = await begin(50_000)
  let lines = 0
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    lines += Buffer.from(part.value).toString('latin1').split('\n').length - 1
    await Bun.sleep(1)
  }
  await over
  expect(lines).toBe(ROWS)
})

test('breaks off when it has sent as many bytes as it may, and frees the engine', async () => {
  const { reader, over, reasons } = await begin(50_000, 1_000_000)
  let bytes = 0
  const read = async (): Promise<string> => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes += part.value.length
    }
    return 'whole'
  }
  expect(await read().catch((error) => error.code)).toBe('query_too_large')
  expect(bytes).toBeLessThanOrEqual(1_000_000)
  expect(reasons).toMatchObject([{ code: 'query_too_large' }])
  await over
  await untilFree()
})

test('a reader who leaves frees the engine', async () => {
  const { reader, over, reasons } = await begin(50_000)
  await reader.cancel()
  await over
  expect(reasons).toEqual([])
  await untilFree()
})
