/**
 * `bun run check`: types, lint, format and all tests. The lanes run at the same time, the steps of a lane one after the
 * other: tests of processes and browsers wait for a fifth of their time, in which the other lane has the processors.
 */

import type { Subprocess } from 'bun'

/** A command and its arguments; programs are found as in a script of package.json. */
type CheckStep = readonly string[]

const BUN = process.execPath
const BUNDLE: CheckStep = [BUN, 'test/bundle/main.ts']

/**
 * Several threads of tsc would each check the types that files share. With one, and no cache written for a next run, this
 * takes 9.5 s of processor time instead of 12.7.
 */
const TSC: CheckStep = [
  'tsc',
  '--singleThreaded',
  '--incremental',
  'false',
  '--tsBuildInfoFile',
  'null',
]

/** The longest files start first, so that none is left alone at the end. Files of a process share their modules. */
const TEST: CheckStep = [
  BUN,
  'test',
  '--no-isolate',
  '--preload=./test/bundle/preload.ts',
  '--timings=test/timings.json',
  '--timeout=60000',
  '--retry=1',
]

/** Folders of `test/` whose tests run the server, or a part of it, in their own process. */
const IN_PROCESS = [
  'certificates',
  'flags',
  'hogql',
  'http',
  'identity',
  'ingest',
  'insights',
  'pictures',
  'plugins',
  'projects',
  'query',
  'serve',
  'storage',
  'targeting',
  'threads',
] as const

/** Folders whose files share servers of ClickHouse. */
const OF_CLICKHOUSE = ['clickhouse', 'shipping'] as const

/** Folders that the last step leaves to the others. */
const ELSEWHERE = [...IN_PROCESS, ...OF_CLICKHOUSE, 'web'] as const

const pathsOf = (names: readonly string[]): readonly string[] => names.map((name) => `test/${name}`)

/** Adding a step means adding a line. */
const LANES: readonly (readonly CheckStep[])[] = [
  [
    [...TSC],
    [...TSC, '-p', 'src/web'],
    ['oxlint', '--type-aware', '--deny-warnings', 'src', 'test'],
    ['biome', 'check'],
    [...TEST, '--parallel=2', ...pathsOf(IN_PROCESS)],
  ],
  [
    // Files of a process share a server and a browser.
    [...TEST, '--parallel=2', 'test/web'],
    [...TEST, '--parallel=3', ...pathsOf(OF_CLICKHOUSE)],
    [...TEST, '--parallel=4', `--path-ignore-patterns=test/{${ELSEWHERE.join(',')}}/**`],
  ],
]

const ENVIRONMENT = {
  ...process.env,
  // tsc and the linter's types are programs of Go: they end sooner without collecting garbage.
  GOGC: 'off',
  GOMEMLIMIT: '2GiB',
  // Two threads of the linter check what they share twice, which takes a sixth more processor time.
  GOMAXPROCS: '1',
  // Processes of tests are short-lived: optimizing their scripts late takes a tenth less processor time.
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '10000',
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: '1000000',
  // Freed memory stays with its process, which soon takes it again: a twentieth less processor time, and 0.15 GB more memory.
  MIMALLOC_PURGE_DELAY: '-1',
  // Each heap of a process is collected when it has grown, and not once a second as well: a tenth less for tests.
  BUN_GC_TIMER_DISABLE: '1',
  ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
}

const running = new Set<Subprocess>()

/** Runs a step and prints its output by whole lines, since another lane prints between them. True when it succeeded. */
async function runStep(step: CheckStep): Promise<boolean> {
  const child = Bun.spawn([...step], { env: ENVIRONMENT, stdout: 'pipe', stderr: 'pipe' })
  running.add(child)
  await Promise.all([printLines(child.stdout), printLines(child.stderr)])
  const is_passed = (await child.exited) === 0
  running.delete(child)
  return is_passed
}

async function printLines(stream: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of stream) {
    const text = rest + decoder.decode(bytes, { stream: true })
    const end = text.lastIndexOf('\n') + 1
    process.stdout.write(text.slice(0, end))
    rest = text.slice(end)
  }
  if (rest !== '') process.stdout.write(`${rest}\n`)
}

let is_ended = false

/** Ends both lanes. */
function endLanes(): void {
  is_ended = true
  for (const child of running) child.kill()
}

async function makeBundle(): Promise<void> {
  if (!(await runStep(BUNDLE))) endLanes()
}

/** Types are checked meanwhile; tests wait for it. */
const bundling = makeBundle()

/** Runs the steps. After a failed test all others run; a wrong type or format ends both lanes. */
async function runLane(lane: readonly CheckStep[]): Promise<boolean> {
  let is_passed = true
  for (const step of lane) {
    const is_test = step[1] === 'test'
    if (is_test) await bundling
    if (is_ended) return false
    if (await runStep(step)) continue
    is_passed = false
    if (!is_test) endLanes()
  }
  return is_passed
}

const passed = await Promise.all(LANES.map(runLane))
process.exit(passed.every(Boolean) ? 0 : 1)
