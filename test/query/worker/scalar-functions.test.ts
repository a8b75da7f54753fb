/** Functions computed in the query process: their refusals reach the caller, their numbers stay exact. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { ask, query, refusal, World } from '../world.ts'

setDefaultTimeout(120_000)

const AMPLE = { timeout_ms: 90_000 }

describe('the query process', () => {
  test('computes what the engine has no words for, exactly', async () => {
    await using world = new World()
    world.send({ distinct_id: 'a' }, { distinct_id: 'b' })
    const engine = world.openEngine()
    const sql = 'select distinct_id, js_city_hash(distinct_id) from events_of($1) order by 1'
    expect(await ask(engine, sql, { types: ['String', 'UInt64'] })).toEqual([
      ['a', Number(2603192927274642682n)],
      ['b', expect.any(Number)],
    ])
    const text = await engine.run(query(sql, { types: ['String', 'UInt64'] }), AMPLE)
    expect(Buffer.from(text.rows_json).toString()).toContain('["a",2603192927274642682]')
  })

  test('answers what a function refuses as a failed query, and goes on', async () => {
    await using world = new World()
    const engine = world.openEngine()
    const { pid } = engine.state
    const asked = engine.run(query("select js_base58_decode('0'), $1"), AMPLE)
    expect(await refusal(asked)).toBe(
      'query_failed: base58Decode was given a text that is not base 58',
    )
    expect(await ask(engine, "select js_base58_encode('hello') || $1")).toEqual([['Cn8eVZg1']])
    expect(engine.state.processes_started).toBe(1)
    expect(pid === null || engine.state.pid === pid).toBe(true)
  })
})
