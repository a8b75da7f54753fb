/** Jobs on a Worker that is terminated when one runs too long. */
import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Refusal } from '../../src/errors.ts'
import { DeadlineWorker } from '../../src/threads/deadline-worker.ts'
import type { CountingJob } from './counting-thread.ts'

const JOB = { owner: 1, deadline_ms: 20_000 }
const LATE = { owner: 1, deadline_ms: 300 }

let worker: DeadlineWorker<CountingJob | (() => void), number> | null = null

function open(waiting_max = 10, idle_ms = 20_000): NonNullable<typeof worker> {
  worker = new DeadlineWorker({
    url: new URL('./counting-thread.ts', import.meta.url).href,
    waiting_max,
    idle_ms,
    refuseLate: (deadline_ms) => new Refusal('query_timeout', `longer than ${deadline_ms} ms`),
  })
  return worker
}

afterEach(() => worker?.close())

const detailOf = (job: Promise<unknown>): Promise<unknown> =>
  job.then(
    (output) => output,
    (error: Error) => error.message,
  )

describe('a deadline worker', () => {
  test('starts with the first job and keeps its Worker for the next ones', async () => {
    const opened = open()
    expect(opened.state).toEqual({ running: 0, waiting: 0, is_started: false })
    expect(await opened.run('count', JOB)).toBe(1)
    expect(await Promise.all([opened.run('count', JOB), opened.run('count', JOB)])).toEqual([2, 3])
    expect(opened.state).toEqual({ running: 0, waiting: 0, is_started: true })
  })

  test('terminates a job at its deadline and answers the next one with a new Worker', async () => {
    const opened = open()
    const late = detailOf(opened.run('endless', LATE))
    const next = opened.run('count', JOB)
    expect(await late).toBe('longer than 300 ms')
    expect(await next).toBe(1)
  })

  test('passes refusals on as refusals, and other errors as errors', async () => {
    const opened = open()
    const refusal = await opened.run('refuse', JOB).catch((error: unknown) => error)
    expect(refusal).toEqual(
      new Refusal('invalid_input', 'No.', { attr: 'query', span: { start: 1, end: 2 } }),
    )
    expect(refusal).toBeInstanceOf(Refusal)
    expect(await detailOf(opened.run('break', JOB))).toContain('Error: broken')
    expect(await detailOf(opened.run(() => undefined, JOB))).toContain('can not be cloned')
    expect(await opened.run('count', JOB)).toBe(3)
  })

  test('goes on with a new Worker after one that crashed', async () => {
    const opened = open()
    expect(await detailOf(opened.run('crash', JOB))).toContain('crashed')
    expect(await opened.run('count', JOB)).toBe(1)
  })

  test('drops a job whose caller has left, also while it runs', async () => {
    const opened = open()
    const [running, waiting] = [new AbortController(), new AbortController()]
    const first = detailOf(opened.run('endless', { ...JOB, signal: running.signal }))
    const second = detailOf(opened.run('count', { ...JOB, signal: waiting.signal }))
    const third = opened.run('count', JOB)
    waiting.abort()
    running.abort()
    expect(await Promise.all([first, second])).toEqual([
      'The work was cancelled.',
      'The work was cancelled.',
    ])
    expect(await third).toBe(1)
  })

  test('refuses jobs when too many wait, but not those of an owner without any', async () => {
    const opened = open(2)
    const endless = detailOf(opened.run('endless', LATE))
    const own = [opened.run('count', JOB), opened.run('count', JOB)]
    expect(await detailOf(opened.run('count', JOB))).toBe(
      'Too much work of this kind is waiting. Try again soon.',
    )
    const other = opened.run('count', { ...JOB, owner: 2 })
    await endless
    expect(await other).toBe(1)
    expect(await Promise.all(own)).toEqual([2, 3])
  })

  test('ends its Worker when it is idle, and starts one again', async () => {
    const opened = open(10, 50)
    expect(await opened.run('count', JOB)).toBe(1)
    while (opened.state.is_started) await Bun.sleep(10)
    expect(await opened.run('count', JOB)).toBe(1)
  })

  test('refuses what waits and runs when it is closed', async () => {
    const opened = open()
    const jobs = [detailOf(opened.run('endless', JOB)), detailOf(opened.run('count', JOB))]
    opened.close()
    jobs.push(detailOf(opened.run('count', JOB)))
    expect(await Promise.all(jobs)).toEqual(Array(3).fill('The server is stopping.'))
    expect(opened.state).toEqual({ running: 0, waiting: 0, is_started: false })
  })
})

test('no file handle for a thread ends no process: its work is refused, and done once one is free', () => {
  const of = (path: string): string => JSON.stringify(join(import.meta.dir, '..', path))
  const program = `
    import { closeSync, openSync } from 'node:fs'
    import { join } from 'node:path'
    import { DeadlineWorker } from ${of('../src/threads/deadline-worker.ts')}
    import { Checkpoints } from ${of('../src/storage/sqlite/checkpoints.ts')}
    import { Folder } from ${of('ingest/folder.ts')}
    const folder = new Folder()
    await folder.open()
    const jobs = new DeadlineWorker({
      url: ${JSON.stringify(new URL('./counting-thread.ts', import.meta.url).href)},
      waiting_max: 10, idle_ms: 20_000, refuseLate: () => new Error('late'),
    })
    const checkpoints = new Checkpoints(join(folder.path, 'events.db'), () => undefined, console.log, console.log)
    const large = { api_key: 'phc_one', event: 'seen', distinct_id: 'u', properties: { text: 'x'.repeat(300_000) } }
    const work = async () => {
      const job = jobs.run('count', { owner: 1, deadline_ms: 20_000 })
      console.log(await job.catch((refusal) => refusal.code))
      const { kind, reason } = await folder.send(large)
      console.log(kind, reason ?? '-')
      checkpoints.noteCall()
    }
    const held = []
    try {
      for (;;) held.push(openSync('/dev/null', 'r'))
    } catch {}
    await work()
    for (const file of held) closeSync(file)
    await work()
    await checkpoints.close()
    await jobs.close()
    await folder.remove()`
  const limited = 'ulimit -n 200; exec "$0" -e "$1"'
  const { stdout, stderr } = Bun.spawnSync(['sh', '-c', limited, process.execPath, program])
  expect([stdout.toString().split('\n'), stderr.toString()]).toEqual([
    [
      'storage_unavailable',
      'refused no file handle is free for the decode thread',
      'no file handle is free for the checkpoint thread',
      '1',
      'stored -',
      '',
    ],
    '',
  ])
})
