/** The snapshot process from the outside: how it ends, what it may read, and how it shares the processors. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { SnapshotChildren } from '../../src/snapshots/child.ts'
import type { SnapshotWork } from '../../src/snapshots/protocol.ts'
import { World } from '../query/world.ts'

setDefaultTimeout(60_000)

/** More than a pipe holds, as the columns of many files are. */
const LENGTH = 1_000_000

test('a process that ends before it has heard all of its work has failed, and nothing else has', async () => {
  const children = new SnapshotChildren(null)
  const run = children.run({ kind: 'verify', data_dir: 'x'.repeat(LENGTH) })
  children.kill()
  const outcome = await run.then(String, String)
  expect(outcome).toStartWith('Error: snapshot process ended with 137')
})

test('a process that is confined to one data folder cannot read another', async () => {
  await using own = new World()
  await using other = new World()
  for (const world of [own, other]) world.send({})
  const verify = async (confined_dir: string | null, data_dir: string): Promise<string> => {
    const work = { kind: 'verify', data_dir } as const
    return new SnapshotChildren(confined_dir).run(work).then(() => 'done', String)
  }
  expect(await verify(null, other.data_dir)).toBe('done')
  expect(await verify(own.data_dir, own.data_dir)).toBe('done')
  expect(await verify(own.data_dir, other.data_dir)).toContain('unable to open database file')
})

test.skipIf(process.platform !== 'linux')(
  'every thread of a process leaves the processors to ingestion, unless the log is long',
  async () => {
    await using world = new World()
    world.send({})
    const write = (is_urgent: boolean) => workOn(world.data_dir, is_urgent)
    expect(await nicenessWhile(world.data_dir, write(false))).toEqual([10])
    expect(await nicenessWhile(world.data_dir, write(true))).toEqual([getPriority()])
  },
)

/** The work of writing an empty range. */
function workOn(data_dir: string, is_urgent: boolean): SnapshotWork {
  return {
    kind: 'write',
    data_dir,
    work_dir: join(data_dir, 'tmp', 'snapshot-test'),
    memory_mb: 64,
    threads: 1,
    columns_max: 1,
    length_max: 1,
    after_seq: 1,
    up_to_seq: 1,
    fault: null,
    is_urgent,
  }
}

/** Runs a process until its threads were seen: it ends soon, and a busy machine may miss one. */
async function nicenessWhile(data_dir: string, work: SnapshotWork): Promise<readonly number[]> {
  let seen: readonly number[] = []
  while (seen.length === 0) {
    const state = { is_running: true }
    const ended = new SnapshotChildren(data_dir).run(work).finally(() => {
      state.is_running = false
    })
    while (state.is_running && seen.length === 0) {
      seen = nicenessOfConfined()
      await Bun.sleep(1)
    }
    await ended
  }
  return [...new Set(seen)]
}

/** The niceness of each thread of the snapshot process that runs confined; empty while none does. */
function nicenessOfConfined(): number[] {
  try {
    const threads = '/proc/self/task'
    const children = readdirSync(threads).flatMap((thread) =>
      readFileSync(`${threads}/${thread}/children`, 'utf8').split(' '),
    )
    const confined = children.find(
      (pid) =>
        pid !== '' &&
        /snapshot-process.*landlock=/s.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')),
    )
    if (confined === undefined) return []
    return readdirSync(`/proc/${confined}/task`).map((thread) => getPriority(Number(thread)))
  } catch {
    // It ended meanwhile.
    return []
  }
}
