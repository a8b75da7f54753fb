/** A small round of every bench: what nobody runs for weeks breaks unnoticed. Its figures mean nothing. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ownCommand } from '../../src/storage/process/spawn-self.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTestIf } from '../long-tests.ts'

limitTests(400_000)

/** `bun run check` leaves out those of whole flows and pages, which other tests walk; `check:long` runs all. */
const SHORT = ['capture', 'import', 'decide', 'query', 'insights'] as const

/** Runs a bench with its small round. Gives what it printed. */
async function runSmall(path: string, names: readonly string[] = []): Promise<string> {
  // From the bundle, if this process is: its servers then start in less time.
  const is_bundled = ownCommand([]).some((part) => part.endsWith('.js'))
  const flags = is_bundled ? ['--preload', join(import.meta.dir, '../bundle/preload.ts')] : []
  const command = [process.execPath, ...flags, join(import.meta.dir, path), ...names]
  const child = Bun.spawn(command, {
    env: { ...process.env, BENCH_SMALL: '1' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, exit_code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  expect({ err, exit_code }).toEqual({ err: '', exit_code: 0 })
  return out
}

test('every bench runs', async () => {
  const out = await runSmall('main.ts', EVERY_CASE ? [] : SHORT)
  const [machine = '', ...lines] = out.trimEnd().split('\n')
  expect(machine).toStartWith('this machine, every core busy')
  // A moment of a busy machine may have no answer at all: the time for one is then infinite.
  const figure = '(?:[\\d.]+|Infinity)'
  const pattern = new RegExp(`: ${figure} \\(bare ${figure}\\) = ${figure} ×, target`)
  for (const line of lines) expect(line).toMatch(pattern)
  expect(out).not.toMatch(/refused [1-9]/)
  for (const name of [
    'POST /capture/, 64 connections',
    'import of small events from a file',
    'POST /decide?v=3, 50 flags, properties sent, nobody twice',
    'POST …/query/ computed',
    'insight, ',
    ...(EVERY_CASE
      ? [
          'POST /batch/ of 100, 4 connections',
          'events with three small properties on the disk',
          '50 flags evaluated in process',
          'POST …/query/ cached',
          'typical HogQL queries in the engine',
          'HogQL, beside hand-made Parquet',
          'an edge forwards its backlog',
          'kills of a primary after which its standby lacks',
          'a server for tests is ready',
          'under attack',
        ]
      : []),
    ...(EVERY_CASE && HAS_BROWSER
      ? ['first chart in a browser', 'rows scrolled', 'followed live']
      : []),
  ]) {
    expect([name, lines.some((line) => line.includes(name))]).toEqual([name, true])
  }
})

longTestIf(hasClickHouse())(
  'the bench of ClickHouse runs, and it answers each kind of insight',
  async () => {
    const out = await runSmall('clickhouse/main.ts')
    expect(out).not.toContain('no answer')
    const names = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(':')[0])
    expect(names).toContainEqual('capture of 10000 events/s, ClickHouse away')
    expect(names).toContainEqual(
      'capture of 10000 events/s, shipped to a receiver that only answers',
    )
    expect(names).toContainEqual('shipping the log')
    expect(names).toContainEqual('filling in files')
    expect(names).toContainEqual('all events')
    for (const name of [
      'page views per day',
      'funnel of three steps',
      'paths of pages, a month',
      'lifecycle by week',
      'stickiness by week',
      'retention, thirteen weeks',
    ])
      expect(names).toContainEqual(`insight, ${name}`)
  },
)
