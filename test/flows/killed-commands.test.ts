/** Commands that are killed with SIGKILL in mid-write and begun again: all is there once, and nothing half is served. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFaults } from '../../src/backup/doctor.ts'
import { takeLock } from '../../src/storage/process/lock.ts'
import { seeded } from '../bench/events.ts'
import { commandLine, ENVIRONMENT, run } from '../cli/command.ts'
import { makeBatches, sendBatches } from './clients/ledger.ts'
import { askHogQL, type Server, startServer } from './processes/server.ts'

/** Many: KILL_ROUNDS=40 bun test test/flows/killed-commands.test.ts */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 2)
const SEED = Number(process.env['SEED'] ?? 20_261_128)
const BATCHES = 60

setDefaultTimeout(120_000 + ROUNDS * 10_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-killed-'))
const random = seeded(SEED)
const at = (name: string): string => join(folder, name)
const servers: Server[] = []

const COUNT = "select countIf(event != '$set'), count(), count(distinct uuid) from events"

async function start(name: string): Promise<Server> {
  const env = { TIDEMARK_SNAPSHOT_ROWS: '2000' }
  const server = await startServer({ data_dir: at(name), env })
  servers.push(server)
  return server
}

async function succeed(...args: readonly string[]): Promise<void> {
  const { exit_code, err } = await run(args)
  expect({ args, exit_code, err }).toEqual({ args, exit_code: 0, err: '' })
}

/** Runs a command, and kills it some milliseconds after it has begun to write. */
async function killOnce(args: readonly string[], hasBegun: () => boolean): Promise<void> {
  const child = Bun.spawn(commandLine(args), { env: ENVIRONMENT, stdout: 'ignore' })
  while (!hasBegun() && child.exitCode === null) await Bun.sleep(1)
  await Bun.sleep(random() * 40)
  child.kill('SIGKILL')
  await child.exited
}

beforeAll(async () => {
  const server = await start('data')
  await sendBatches(server.url, makeBatches(SEED, BATCHES), 4)
  expect(await server.stop()).toBe(0)
  await succeed('backup', at('backup'), '--data-dir', at('data'))
  await succeed('backup', '--to', at('store'), '--data-dir', at('data'))
  await succeed('export', '--project', '1', at('export'), '--data-dir', at('data'))
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill()))
  rmSync(folder, { recursive: true, force: true })
})

test.each([
  ['a folder', () => [at('backup')]],
  ['a store', () => ['--from', at('store')]],
])(
  `a restore from %s that is killed ${ROUNDS} times is whole in the end, and not served before`,
  async (_, from) => {
    const data_dir = at('restored')
    rmSync(data_dir, { recursive: true, force: true })
    const mark = join(data_dir, 'tidemark-unfinished')
    const args = ['restore', ...from(), '--data-dir', data_dir]
    for (let round = 0; round < ROUNDS; round += 1) {
      await killOnce(args, () => existsSync(mark))
      const is_done = existsSync(data_dir) && !existsSync(mark)
      if (is_done) rmSync(data_dir, { recursive: true })
      else expect(() => takeLock(data_dir, process.pid, new Date())).toThrow('Restore it again')
    }
    await succeed(...args)
    expect(await findFaults(data_dir)).toMatchObject({ findings: [] })
    const server = await start('restored')
    const events = BATCHES * 100
    expect((await askHogQL(server.url, COUNT)).results).toEqual([[events, events, events]])
    await server.kill()
  },
)

test(`an import that is killed ${ROUNDS} times goes on where it was, and stores every event once`, async () => {
  const server = await start('imported')
  const args = ['import', '--project', '1', at('export'), '--data-dir', at('imported')]
  const readProgress = (): string =>
    readdirSync(at('imported'))
      .filter((name) => /^import-.*\.json$/.test(name))
      .map((name) => readFileSync(join(at('imported'), name), 'utf8'))
      .join('')
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = readProgress()
    await killOnce(args, () => readProgress() !== before)
  }
  const { exit_code, out } = await run(args)
  expect([exit_code, out]).toEqual([0, expect.stringContaining('events stored')])
  expect(readProgress()).toBe('')
  const events = BATCHES * 100
  const [counted = []] = (await askHogQL(server.url, COUNT)).results
  expect(counted[0]).toBe(events)
  expect(counted[1]).toBe(counted[2])
  expect(await server.stop()).toBe(0)
})
