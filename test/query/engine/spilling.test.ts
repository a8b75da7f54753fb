/** Queries that sort more than fits into memory: where they spill, how much, and what is left of it. */
import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { limitTests, longTest } from '../../long-tests.ts'
import { ask, refusal, World } from '../world.ts'

limitTests(120_000)

/** Sorts about twice the memory that it may use. */
const SORTING = `
  select count(*)
  from (
    select row_number() over (order by s, a) as place
    from (select a, repeat(md5(a::varchar), 3) as s from range(1500000) t(a))
  )
  where place % 1000 = 0 and $1 > 0`

const spillFiles = (data_dir: string): readonly string[] =>
  readdirSync(join(data_dir, 'tmp'), { recursive: true })
    .map(String)
    .filter((name) => name.includes('duckdb_temp'))

longTest(
  'two projects never spill into one folder, where each would overwrite what the other spilled',
  async () => {
    await using world = new World()
    const engine = world.openEngine({ memory_mb: 160, threads: 1 })
    const folders = new Set<string>()
    const look = setInterval(() => {
      for (const file of spillFiles(world.data_dir)) folders.add(dirname(file))
    }, 20)
    const asked = [ask(engine, SORTING), ask(engine, SORTING, { project_id: 2 })]
    const answers = await Promise.all(asked).finally(() => clearInterval(look))
    expect(answers).toEqual([[[1500]], [[1500]]])
    const projects = [...folders].map((folder) => basename(folder).split('-', 1)[0])
    expect(new Set(projects)).toEqual(new Set(['1', '2']))
  },
)

test('queries that spill more than all may together are refused in words, and leave nothing on disk', async () => {
  await using world = new World()
  const engine = world.openEngine({ memory_mb: 160, threads: 1, spill_mb: 16 })
  expect(await refusal(ask(engine, SORTING))).toMatch(
    /^query_too_large: The query needs more room on disk than queries may use/,
  )
  expect(await ask(engine, 'select 1 where $1 > 0', { project_id: 2 })).toEqual([[1]])
  while (spillFiles(world.data_dir).length > 0) await Bun.sleep(50)
  expect(engine.state.processes_ended).toEqual({})
})

longTest(
  'projects that stay within the limit alone, but not together, are stopped by the sum',
  async () => {
    await using world = new World()
    const engine = world.openEngine({ memory_mb: 160, threads: 1, spill_mb: 150 })
    // On a busy machine they may run one after the other, and then each has all of the room.
    for (let round = 0; round < 10; round += 1) {
      const queries = [1, 2, 3].map((project_id) => refusal(ask(engine, SORTING, { project_id })))
      const outcomes = await Promise.all(queries)
      // Three at once may also be too much for the memory.
      expect(outcomes.filter((it) => !/^(answered|query_(too_large|memory): )/.test(it))).toEqual(
        [],
      )
      if (outcomes.some((it) => it.startsWith('query_too_large: '))) return
    }
    throw new Error('no query was stopped by the sum')
  },
)
