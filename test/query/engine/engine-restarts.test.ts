/** The query process is replaced: for want of address space, by force, at failed starts; the one who caused it waits. */
import { describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { QueryEngine } from '../../../src/query/engine/engine.ts'
import { ProjectBackOff } from '../../../src/query/engine/project-back-off.ts'
import { limitTests, longTest } from '../../long-tests.ts'
import { fewOrMany } from '../../random-runs.ts'
import { ask, deafQuery, query, refusal, World } from '../world.ts'

limitTests(120_000)

const ONE = 'select 1 where $1 > 0'
/** Runs until it is interrupted, and takes no processor time. */
const SLEEPING = 'select sleep_ms(600000), $1'
/** Ends the process with SIGSEGV. */
const DEADLY = `select json_structure(repeat('[', 300000) || repeat(']', 300000)), $1`

describe('a query process with little address space', () => {
  test('closes projects that are not in use, so that every project can be opened', async () => {
    await using world = new World()
    const engine = world.openEngine({ memory_mb: 64, threads: 8 })
    const answers: unknown[] = []
    for (let project_id = 1; project_id <= 12; project_id++) {
      answers.push(await refusal(ask(engine, ONE, { project_id })))
    }
    expect(answers).toEqual(Array.from({ length: 12 }, () => 'answered'))
    expect(engine.state).toMatchObject({ processes_ended: {}, unready: null })
  })

  longTest('opens those that are asked at the same time once they have room', async () => {
    await using world = new World()
    const engine = world.openEngine({ memory_mb: 64, threads: 8, running_max: 8 })
    const asked = Array.from({ length: 8 }, (_, index) =>
      refusal(ask(engine, ONE, { project_id: index + 1 })),
    )
    expect(await Promise.all(asked)).toEqual(asked.map(() => 'answered'))
    expect(engine.state.processes_ended['died']).toBeUndefined()
  })

  test('is replaced when all of them are in use', async () => {
    await using world = new World()
    const engine = world.openEngine({ memory_mb: 64, threads: 8 })
    await ask(engine, ONE)
    const long = await runBeside(engine, [1, 2, 3, 4])
    expect(await ask(engine, ONE, { project_id: 5 })).toEqual([[1]])
    await until(() => engine.state.processes_ended['exhausted'] === 1)
    expect(engine.state.unready).toBeNull()
    await engine.close()
    await Promise.all(long)
  })

  test('does not excuse a query that needs too much memory by itself', async () => {
    await using world = new World()
    const engine = world.openEngine({ memory_mb: 64, threads: 8 })
    for (let project_id = 1; project_id <= 3; project_id++) await ask(engine, ONE, { project_id })
    const large = ask(engine, `select length(repeat('a', 2000000000)), $1`, { project_id: 9 })
    expect(await refusal(large)).toStartWith('query_memory: ')
    expect(await refusal(ask(engine, ONE, { project_id: 2 }))).toBe('answered')
  })
})

describe('a query that has to be stopped by force', () => {
  test('makes its own project wait, while others are answered', async () => {
    await using world = new World()
    const engine = world.openFoldingEngine()
    await ask(engine, ONE)
    expect(await hangUp(world, engine)).toBe('query_cancelled: The query was cancelled.')
    await until(() => engine.state.processes_ended['unresponsive'] === 1)
    const held = await engine.run(query(ONE), { timeout_ms: 30_000 }).catch((error) => error)
    expect(held).toMatchObject({ code: 'throttled', retry_after_s: 2 })
    expect(await ask(engine, ONE, { project_id: 2 })).toEqual([[1]])
    const patient = engine.run(query(ONE), { timeout_ms: 30_000, is_background: true })
    expect(await patient).toMatchObject({ row_count: 1 })
  })

  // In `check`, engine.test.ts asks beside one such query; here they come for as long as another one runs.
  test.skipIf(fewOrMany(0, 1) === 0)(
    'never costs the queries of others more than time',
    async () => {
      await using world = new World()
      const engine = world.openFoldingEngine()
      await ask(engine, ONE)
      const victims = { over: false }
      // Takes longer than an attacker needs to have the process killed, and no processor time.
      const victim = refusal(ask(engine, 'select sleep_ms(6000), $1', { project_id: 2 })).finally(
        () => (victims.over = true),
      )
      while (!victims.over) {
        await hangUp(world, engine)
        await Bun.sleep(100)
      }
      expect(await victim).toMatch(/^(answered|storage_unavailable: .*restarted)/)
      expect(engine.state.processes_ended).toEqual({ unresponsive: expect.any(Number) })
    },
  )
})

/** Begins a query of each project that ends with the engine. */
async function runBeside(engine: QueryEngine, projects: readonly number[]) {
  const long = projects.map((project_id) =>
    refusal(engine.run(query(SLEEPING, { project_id }), { timeout_ms: 90_000 })),
  )
  await until(() => engine.state.running === projects.length)
  return long
}

describe('projects that ask beside one whose query ends the process', () => {
  test('have a process ready before it dies', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { spares_kept_ms: 20_000 })
    await ask(engine, ONE)
    expect(engine.state.spare_pids).toEqual([])
    const long = await runBeside(engine, [1, 2])
    await until(() => engine.state.spare_pids.length === 2)
    const { pid, spare_pids } = engine.state
    process.kill(pid ?? 0, 'SIGKILL')
    await until(() => engine.state.pid !== pid)
    // Another start would show as null here.
    expect(spare_pids).toContain(engine.state.pid ?? 0)
    expect(await ask(engine, ONE, { project_id: 3 })).toEqual([[1]])
    await until(() => engine.state.running === 2)
    await engine.close()
    await Promise.all(long)
  })

  test('have no spare process once they no longer ask', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { spares_kept_ms: 1 })
    const long = await runBeside(engine, [1, 2])
    const { processes_started } = engine.state
    expect(processes_started).toBeGreaterThan(1)
    await until(() => engine.state.spare_pids.length === 0)
    expect(engine.state.processes_ended).toEqual({})
    await engine.close()
    await Promise.all(long)
  })

  test("wait for no other project's trial", async () => {
    await using world = new World()
    const engine = world.openEngine()
    await ask(engine, ONE)
    const long = await runBeside(engine, [1, 2])
    const short = ask(engine, 'select sleep_ms(1000) is null, $1', { project_id: 3 })
    await until(() => engine.state.running === 3)
    process.kill(engine.state.pid ?? 0, 'SIGKILL')
    expect(await short).toEqual([[true, 3]])
    await until(() => engine.state.running === 2)
    expect(engine.state).toMatchObject({ running: 2, waiting: 0 })
    await engine.close()
    await Promise.all(long)
  })

  test('are cleared once the cause is found, and ask on in one process', async () => {
    await using world = new World()
    const engine = world.openEngine()
    await ask(engine, ONE)
    const long = await runBeside(engine, [1, 2, 3])
    const deadly = engine.run(query(DEADLY, { project_id: 4 }), { timeout_ms: 90_000 })
    expect(await refusal(deadly)).toStartWith('query_failed: The query stopped the engine.')
    await until(() => engine.state.running === 3)
    expect(engine.state.processes_ended['died']).toBe(2)
    await engine.close()
    await Promise.all(long)
  })
})

describe('a query that runs once more because its process died', () => {
  test('has a process of its own, beside which others are answered', async () => {
    await using world = new World()
    const engine = world.openEngine()
    await ask(engine, ONE)
    const long = refusal(engine.run(query(SLEEPING), { timeout_ms: 30_000 }))
    await until(() => engine.state.running === 1)
    process.kill(engine.state.pid ?? 0, 'SIGKILL')
    // Begun for the second time.
    await until(() => engine.state.running === 0)
    await until(() => engine.state.running === 1)
    expect(await ask(engine, ONE, { project_id: 2 })).toEqual([[1]])
    expect(await ask(engine, ONE)).toEqual([[1]])
    expect(engine.state.running).toBe(1)
    await engine.close()
    expect(await long).toStartWith('storage_unavailable: ')
  })
})

test('a project that runs as many queries as may run keeps no other one waiting', async () => {
  await using world = new World()
  const engine = world.openEngine({ running_max: 2 })
  await ask(engine, ONE)
  const long = [1, 2, 3].map(() => refusal(engine.run(query(SLEEPING), { timeout_ms: 60_000 })))
  await until(() => engine.state.running === 2)
  expect(engine.state.waiting).toBe(1)
  expect(await ask(engine, ONE, { project_id: 2 })).toEqual([[1]])
  expect(engine.state).toMatchObject({ running: 2, waiting: 1 })
  await engine.close()
  await Promise.all(long)
})

describe('a query process that nothing is asked of', () => {
  test('ends, which is no death and leaves the engine ready; the next query is answered by another one', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { idle_ms: 50 })
    expect(await ask(engine, ONE)).toEqual([[1]])
    const { pid } = engine.state
    await until(() => engine.state.pid === null)
    await engine.adoptManifest()
    engine.reopenProject(1)
    expect(engine.state).toMatchObject({ unready: null, processes_ended: {}, processes_started: 1 })
    expect(await ask(engine, ONE)).toEqual([[1]])
    expect(engine.state.pid).not.toBe(pid)
    expect(engine.state).toMatchObject({ processes_ended: {}, processes_started: 2 })
  })

  test('answers every query that comes while it ends', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { idle_ms: 10 })
    const answers: unknown[] = []
    for (let round = 0; round < fewOrMany(8, 80); round++) {
      answers.push(await ask(engine, ONE))
      // Before, at and after the end, which comes by a timer.
      await Bun.sleep(round % 4 === 0 ? 30 : 8 + (round % 5))
    }
    expect(answers).toEqual(answers.map(() => [[1]]))
    expect(engine.state.processes_ended).toEqual({})
    expect(engine.state.processes_started).toBeGreaterThan(1)
  })

  test('lives while a query runs', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { idle_ms: 10 })
    expect(await ask(engine, 'select sleep_ms(300) is null, $1')).toEqual([[true, 1]])
    expect(engine.state.processes_started).toBe(1)
  })

  test('starts once for queries of several projects, and keeps no other one waiting', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { idle_ms: 10, spares_kept_ms: 1 })
    await ask(engine, ONE)
    await until(() => engine.state.pid === null)
    const asked = [1, 2, 3].map((project_id) => ask(engine, ONE, { project_id }))
    expect(await Promise.all(asked)).toEqual([[[1]], [[1]], [[1]]])
  })

  test('is started for a query that is about to come, once, and lives as if it had come', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { idle_ms: 300 })
    await ask(engine, ONE)
    await until(() => engine.state.pid === null)
    engine.wake()
    engine.wake()
    await until(() => engine.state.pid !== null)
    const { pid } = engine.state
    engine.wake()
    expect(await ask(engine, ONE)).toEqual([[1]])
    expect(engine.state).toMatchObject({ pid, processes_started: 2 })
    await until(() => engine.state.pid === null)
    await engine.close()
    engine.wake()
    expect(engine.state.processes_started).toBe(2)
  })

  test('is not started by the end of the engine', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { idle_ms: 1 })
    await ask(engine, ONE)
    await until(() => engine.state.pid === null)
    await engine.close()
    expect(await refusal(ask(engine, ONE))).toStartWith('storage_unavailable: ')
    expect(engine.state.processes_started).toBe(1)
  })
})

describe('a query process that does not start', () => {
  test('for want of a file is started again later, and the server goes on', () => {
    const program = `
      import { closeSync, openSync } from 'node:fs'
      import { ask, World } from '${join(import.meta.dir, '../world.ts')}'
      await using world = new World()
      const engine = world.openEngine()
      await ask(engine, '${ONE}')
      const held = []
      try {
        for (;;) held.push(openSync('/dev/null', 'r'))
      } catch {}
      process.kill(engine.state.pid, 'SIGKILL')
      while (engine.state.unready === null) await Bun.sleep(10)
      console.log(engine.state.unready)
      for (const fd of held) closeSync(fd)
      while (engine.state.unready !== null) await Bun.sleep(10)
      console.log(JSON.stringify(await ask(engine, '${ONE}')))`
    const limited = 'ulimit -n 200; exec "$0" -e "$1"'
    const { stdout } = Bun.spawnSync(['sh', '-c', limited, process.execPath, program])
    expect(stdout.toString()).toBe('The query engine does not start.\n[[1]]\n')
  })

  test('makes the engine unready and refuse with a time to wait, until it starts by itself', async () => {
    await using world = new World()
    const folder = join(world.data_dir, 'tmp')
    rmSync(folder, { recursive: true, force: true })
    writeFileSync(folder, 'in the way')
    const engine = world.openEngine()
    const refused = await engine.run(query(ONE), { timeout_ms: 60_000 }).catch((error) => error)
    expect(refused).toMatchObject({ code: 'storage_unavailable', retry_after_s: 5 })
    expect(engine.state.unready).toBe('The query engine does not start.')
    rmSync(folder)
    mkdirSync(folder)
    await until(() => engine.state.unready === null)
    expect(await ask(engine, ONE)).toEqual([[1]])
  })
})

test('a wait doubles with each strike up to five minutes, and is forgiven after an hour', () => {
  const clock = { now_ms: 0 }
  const back_off = new ProjectBackOff(() => clock.now_ms)
  const waits = Array.from({ length: 10 }, () => back_off.strike(1) / 1000)
  expect(waits).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
  expect([back_off.waitMs(1), back_off.waitMs(2)]).toEqual([300_000, 0])
  clock.now_ms = 300_000 + 3_600_001
  expect([back_off.waitMs(1), back_off.strike(1)]).toEqual([0, 2000])
})

/** Begins the deaf query for project 1 and leaves, also when it has to wait. */
function hangUp(world: World, engine: QueryEngine): Promise<string> {
  const leave = new AbortController()
  setTimeout(() => leave.abort(), 3000)
  return refusal(
    engine.run(query(deafQuery(world)), {
      timeout_ms: 60_000,
      signal: leave.signal,
      onBegin: () => setTimeout(() => leave.abort(), 300),
    }),
  )
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5)
}
