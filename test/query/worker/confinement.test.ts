/** What the query process gives up: tried from inside, confined and not, by a process that does nothing else. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, World } from '../world.ts'

setDefaultTimeout(60_000)

const ROOT = join(import.meta.dir, '../../..')

const FORBIDDEN = [
  'read a file of the system',
  'read the control database',
  'read the memory of a process',
  'write into the data folder',
  'write the event log',
  'write a snapshot file',
  'write a linked snapshot file',
  'change the mode of the data folder',
  'connect to a port',
  'listen on a port',
  'execute a program',
  'trace a process',
  'signal a process',
  'enter a new namespace',
]
const ALLOWED = [
  'read the event log',
  'link a snapshot file',
  'list the snapshot files',
  'read the file of macros',
  'spill to disk',
  'read its own accounts',
  'start a thread',
]

let world: World
let bystander: Bun.Subprocess
let listener: Bun.TCPSocketListener

beforeAll(() => {
  world = new World()
  world.send({})
  writeFileSync(join(world.data_dir, 'control.db'), 'secret')
  writeFileSync(join(world.data_dir, 'files', 'a.parquet'), 'rows')
  bystander = Bun.spawn(['sleep', '600'])
  listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
})

afterAll(async () => {
  // A probe may have stopped it, and a stopped process waits with any other signal.
  bystander.kill('SIGKILL')
  listener.stop()
  await world[Symbol.asyncDispose]()
})

describe('a confined process', () => {
  test('reaches what answers need, and nothing else', async () => {
    const { confinement, outcomes } = await probe()
    const expected = [
      ...FORBIDDEN.map((name) => [name, 'refused']),
      ...ALLOWED.map((name) => [name, 'done']),
    ]
    expect(outcomes).toEqual(Object.fromEntries(expected))
    expect(confinement).toEqual({ landlock: expect.any(Number), seccomp: true })
    expect(readFileSync(join(world.data_dir, 'files', 'a.parquet'), 'utf8')).toBe('rows')
    expect(existsSync(join(world.data_dir, 'planted'))).toBe(false)
    expect(statSync(world.data_dir).mode & 0o777).not.toBe(0o777)
  })

  test('is what makes the difference: unconfined, nothing of it is refused', async () => {
    const { outcomes } = await probe(false)
    const refused = Object.entries(outcomes).filter(([, outcome]) => outcome === 'refused')
    // A process with several threads never enters a namespace, and tracing is often forbidden on a machine.
    const machine = new Set(['enter a new namespace', 'trace a process'])
    expect(refused.filter(([name]) => !machine.has(name))).toEqual([])
  })

  test('answers, and the engine says what was given up', async () => {
    const engine = world.openEngine()
    expect(await ask(engine, 'select count(*) from events_of($1)')).toEqual([[1]])
    expect(engine.state.confinement.seccomp).toBe(true)
    expect(engine.state.confinement.landlock).toBeGreaterThan(0)
  })
})

async function probe(is_confined = true) {
  const work_dir = join(world.data_dir, 'tmp', `probe-${is_confined}`)
  mkdirSync(work_dir, { recursive: true })
  const options = {
    data_dir: world.data_dir,
    work_dir,
    port: listener.port,
    pid: bystander.pid,
    file: 'a.parquet',
    is_confined,
  }
  const command = process.env['TIDEMARK_TEST_EXECUTABLE']?.split(' ') ?? [
    process.execPath,
    join(ROOT, 'src', 'main.ts'),
  ]
  const child = Bun.spawn({
    cmd: [...command, 'query-confinement-probe', JSON.stringify(options)],
    stdout: 'pipe',
    stderr: 'inherit',
    env: {},
  })
  return JSON.parse(await child.stdout.text())
}
