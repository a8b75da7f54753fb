/** `bun run bench`: what the design promises, measured beside bare loops in one run and printed as ratios. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoizeValue } from '../../src/memoize.ts'
import { PERSONAL_API_KEY, startServer } from '../flows/processes/server.ts'
import { bareInsertRate } from './bare-inserts.ts'
import { type Askers, FEW, fillServer, MANY, NEVER_TWICE, someQuery } from './decide.ts'
import { forwardingTimes } from './edge.ts'
import { seeded, someEvent } from './events.ts'
import { flagRates } from './flags.ts'
import { diskUse, type ImportRate, importRate } from './import.ts'
import { insightTimes } from './insights/insights.ts'
import { type LoadResult, spawnLoad } from './load.ts'
import {
  type Frames,
  LIVE_EVENTS_PER_S,
  type LiveLoad,
  liveTimes,
  SLOW_FRAME_MS,
  scrollRows,
} from './pages.ts'
import { handTimes } from './queries/hand-made.ts'
import { type QueryTimes, queryRatios } from './queries/queries.ts'
import { QUERY_PATH, queryBody, queryTimes } from './queries/query-endpoint.ts'
import { IS_SMALL, SIZES } from './sizes.ts'
import { standbyLosses } from './standby.ts'
import { type Pauses, standstill } from './standstill.ts'
import { installedStart, startTimes } from './start.ts'
import { timesUnderAttack } from './under-attack.ts'
import { chartTimes } from './web.ts'

const ROUNDS = SIZES.rounds
const SECONDS = SIZES.seconds
const TOKEN = 'phc_bench'
const PERSONS = 10_000
const INSIGHT_EVENTS = SIZES.insight_events

/** One line of the table: a figure of ours, the bare one beside it, and the least their ratio may be. */
type Line = {
  readonly name: string
  readonly ours: number
  readonly bare: number
  readonly target: number
  readonly note: string
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

function bodies(name: string, count: number, body: () => unknown): string {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(Array.from({ length: count }, () => JSON.stringify(body()))))
  return path
}

async function load(
  port: number,
  connections: number,
  path: string,
  file: string,
): Promise<LoadResult> {
  return applyAtRate([port, connections, SECONDS, path, file])
}

/** The arguments of load.ts, in its order; with a rate, requests come evenly. */
async function applyAtRate(
  args: readonly (number | string)[],
  ...rate: readonly number[]
): Promise<LoadResult> {
  // Only queries look at the key.
  return spawnLoad([...args, PERSONAL_API_KEY, ...rate])
}

async function startBareServer(
  file = 'bare-server.ts',
  ...args: readonly string[]
): Promise<{ port: number; stop: () => void }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, file), ...args])
  const { value } = await child.stdout.getReader().read()
  return { port: Number(new TextDecoder().decode(value)), stop: () => child.kill() }
}

/** Single events: 64 connections, each answer after its commit was fsynced and its person updated. */
async function benchCapture(port: number): Promise<Line> {
  const random = seeded(7)
  const file = bodies('single.json', 5000, () => ({
    api_key: TOKEN,
    ...someEvent(random, PERSONS),
  }))
  const bare = await startBareServer()
  const durable = await startBareServer('durable-server.ts', mkdtempSync(join(folder, 'durable-')))
  const rounds: { ours: LoadResult; bare: LoadResult; durable: LoadResult }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      bare: await load(bare.port, 64, '/capture/', file),
      durable: await load(durable.port, 64, '/capture/', file),
      ours: await load(port, 64, '/capture/', file),
    })
  }
  bare.stop()
  durable.stop()
  return {
    name: 'POST /capture/, 64 connections, requests/s',
    ours: median(rounds.map((round) => round.ours.requests_per_s)),
    bare: median(rounds.map((round) => round.bare.requests_per_s)),
    target: 0.45,
    note: `p99 ${median(rounds.map((round) => round.ours.p99_ms)).toFixed(1)} ms (at most 1.5 × bare: ${median(rounds.map((round) => round.bare.p99_ms)).toFixed(1)}), bare and durable ${median(rounds.map((round) => round.durable.requests_per_s))} with p99 ${median(rounds.map((round) => round.durable.p99_ms)).toFixed(1)} ms, refused ${rounds.reduce((sum, round) => sum + round.ours.refused, 0)}`,
  }
}

/** A few senders, each of whom waits for the disk, and as many as the other lines have, whose batches share its syncs. */
const BATCH_CONNECTIONS = [4, 64] as const

/** Batches of a hundred, in events per second, against the bare insert loop with its thousand rows per sync. */
async function benchBatch(port: number): Promise<readonly Line[]> {
  const random = seeded(8)
  const file = bodies('batch.json', 300, () => ({
    api_key: TOKEN,
    batch: Array.from({ length: 100 }, () => someEvent(random, PERSONS)),
  }))
  const rounds: { ours: LoadResult[]; bare: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const bare = bareInsertRate(mkdtempSync(join(folder, 'bare-')), SIZES.inserts)
    const ours: LoadResult[] = []
    for (const connections of BATCH_CONNECTIONS) {
      ours.push(await load(port, connections, '/batch/', file))
    }
    rounds.push({ bare, ours })
  }
  return BATCH_CONNECTIONS.map((connections, index) => {
    const ours = rounds.flatMap((round) => round.ours.slice(index, index + 1))
    return {
      name: `POST /batch/ of 100, ${connections} connections, events/s`,
      ours: median(ours.map((one) => one.requests_per_s * 100)),
      bare: median(rounds.map((round) => round.bare)),
      target: 0.6,
      note: `p99 ${median(ours.map((one) => one.p99_ms)).toFixed(1)} ms, refused ${ours.reduce((sum, one) => sum + one.refused, 0)}`,
    }
  })
}

/** What an edge forwards, beside what it takes in: both servers on this machine. */
async function benchEdge(): Promise<Line> {
  const random = seeded(9)
  const file = bodies('edge.json', 300, () => ({
    api_key: TOKEN,
    batch: Array.from({ length: 100 }, () => someEvent(random, PERSONS)),
  }))
  const times = await forwardingTimes(mkdtempSync(join(folder, 'edge-')), TOKEN, 100, (port) =>
    load(port, 4, '/batch/', file),
  )
  return {
    name: 'an edge forwards its backlog, events/s',
    ours: Math.round(times.forwarded_per_s),
    bare: Math.round(times.taken_per_s),
    target: 0.7,
    note: `beside what it takes in as batches of 100; ${times.events} events, ${times.bytes_per_event.toFixed(0)} bytes each on the line, refused ${times.refused}`,
  }
}

/** As long as a test may wait for its server. */
const START_MS_MAX = 300

/**
 * `startTidemark` as an empty project has it installed, and from the source, in starts per second that could follow one
 * another, beside that time. A small round installs nothing: `package.test.ts` does.
 */
async function benchStart(): Promise<Line[]> {
  const lines = [startLine('from the source', await startTimes(SIZES.starts))]
  if (IS_SMALL) return lines
  const start = await installedStart(mkdtempSync(join(folder, 'project-')))
  return [startLine('installed', await startTimes(SIZES.starts, start)), ...lines]
}

function startLine(form: string, times_ms: readonly number[]): Line {
  return {
    name: `a server for tests is ready, ${form}, starts/s`,
    ours: Math.round(100_000 / median(times_ms)) / 100,
    bare: Math.round(100_000 / START_MS_MAX) / 100,
    target: 1,
    note: `median ${median(times_ms).toFixed(0)} ms, worst ${Math.max(...times_ms).toFixed(0)} ms (at most ${START_MS_MAX})`,
  }
}

/** As much of the stream as a standby may lack, as the READMEs say. */
const LOST_MS_MAX = 150

/** Kills of a primary under load after which its standby lacked no more than that. */
async function benchStandby(): Promise<Line> {
  const losses = await standbyLosses(mkdtempSync(join(folder, 'standby-')), SIZES.kills)
  const lost_ms = losses.map(({ ms }) => ms)
  const events = losses.map((loss) => loss.events)
  return {
    name: `kills of a primary after which its standby lacks at most ${LOST_MS_MAX} ms of the stream`,
    ours: lost_ms.filter((ms) => ms <= LOST_MS_MAX).length,
    bare: losses.length,
    target: 1,
    note: `median ${median(lost_ms).toFixed(0)} ms, worst ${Math.max(...lost_ms).toFixed(0)} ms: ${median(events)} and ${Math.max(...events)} answered events, of ${median(losses.map(({ events_per_s }) => events_per_s)).toFixed(0)} events/s`,
  }
}

/** Events per second that an import should store on two cores with nothing else to do. */
const IMPORTED_PER_S = 60_000

/** An import from a file of lines, beside what it should reach. */
async function benchImport(): Promise<Line> {
  const rounds: ImportRate[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(await importRate(folder, { ...server, api_token: TOKEN }, SIZES.imported_events))
  }
  return {
    name: 'import of small events from a file, events/s',
    ours: Math.round(median(rounds.map(({ events_per_s }) => events_per_s))),
    bare: IMPORTED_PER_S,
    target: 1,
    note: `for each ${median(rounds.map(({ event_us }) => event_us)).toFixed(1)} µs of the importing process and ${median(rounds.map(({ server_event_us }) => server_event_us)).toFixed(1)} µs of the server`,
  }
}

/** Bytes that an event with small properties may take on the disk, with all that is kept for it. */
const BYTES_PER_EVENT_MAX = 60

/** The disk that imported events take, in events per megabyte, beside what they should take at most. */
async function benchDisk(): Promise<Line> {
  const { all, files, databases, free_bytes } = await diskUse(
    mkdtempSync(join(folder, 'disk-')),
    SIZES.imported_events,
  )
  return {
    name: 'events with three small properties on the disk, events/MB',
    ours: Math.round(1_000_000 / all),
    bare: Math.round(1_000_000 / BYTES_PER_EVENT_MAX),
    target: 1,
    note: `${all.toFixed(1)} bytes for each: ${files.toFixed(1)} in files, ${databases.toFixed(1)} in events.db with its index of ids and its persons; ${(free_bytes / 1_000_000).toFixed(0)} MB of it in all are free for the next events`,
  }
}

/** decide with 50 flags, 64 connections: people are stored, or the query brings their properties along. */
async function benchDecide(port: number, asked: Askers, has_properties: boolean): Promise<Line> {
  const name = `properties ${has_properties ? 'sent' : 'stored'}, ${asked.name}`
  const bare = await startBareServer()
  const rounds: Record<'bare' | 'bare_half' | 'half' | 'ours', LoadResult>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const first = asked.are_new ? round * asked.people : 0
    const numbers = Array.from({ length: asked.people }, (_, index) => first + index)
    const file = bodies('decide.json', asked.people, () =>
      someQuery(TOKEN, numbers.shift() ?? 0, has_properties),
    )
    const bare_result = await load(bare.port, 64, '/decide/?v=3', file)
    const ours = await load(port, 64, '/decide/?v=3', file)
    const half_rate = ours.requests_per_s / 2
    // A late timer of the load counts as time of the answer, so both servers get the same rate.
    const evenly = (to: number) =>
      applyAtRate([to, 64, SECONDS / 2, '/decide/?v=3', file], half_rate)
    const half = await evenly(port)
    const bare_half = await evenly(bare.port)
    rounds.push({ bare: bare_result, ours, half, bare_half })
  }
  bare.stop()
  const of = (kind: keyof (typeof rounds)[number], figure: 'mean_ms' | 'p99_ms'): string =>
    median(rounds.map((round) => round[kind][figure])).toFixed(1)
  const refused = rounds.reduce((sum, { ours, half }) => sum + ours.refused + half.refused, 0)
  return {
    name: `POST /decide?v=3, 50 flags, ${name}, 64 connections, requests/s`,
    ours: median(rounds.map((round) => round.ours.requests_per_s)),
    bare: median(rounds.map((round) => round.bare.requests_per_s)),
    target: 0.5,
    note: `p99 ${of('ours', 'p99_ms')} ms (at most 2 × bare: ${of('bare', 'p99_ms')}), mean ${of('ours', 'mean_ms')} ms (bare ${of('bare', 'mean_ms')}), p99 ${of('half', 'p99_ms')} ms when half as many come evenly (at most 2 × bare: ${of('bare_half', 'p99_ms')}), refused ${refused}`,
  }
}

/** The server gets its flags and people once, for whichever of these benches is first. */
const fillOnce = memoizeValue(() => fillServer(server.url, TOKEN, NEVER_TWICE.people * ROUNDS))

/** The bench of people who are asked about. It gives its lines one by one: each takes half a minute and more. */
function benchDecideOf(asked: Askers): (port: number) => AsyncIterable<Line> {
  return async function* bench(port) {
    await fillOnce()
    for (const has_properties of [false, true]) yield benchDecide(port, asked, has_properties)
  }
}

/** Evaluations in process, beside those of posthog-node. */
async function benchEvaluation(): Promise<Line> {
  const { ours, posthog_node } = await flagRates(SECONDS)
  return {
    name: '50 flags evaluated in process, people/s',
    ours,
    bare: posthog_node,
    target: 12.5,
    note: 'beside posthog-node; at least 50000',
  }
}

/** A computed query, in queries per second one after the other, beside the engine's share of them. */
async function benchQuery(port: number): Promise<Line> {
  const { whole_ms, bare_ms } = await queryTimes(port, SIZES.queries)
  return {
    name: 'POST …/query/ computed, one after the other, queries/s',
    ours: Math.round(1000 / whole_ms),
    bare: Math.round(1000 / bare_ms),
    target: 0.5,
    note: `${(whole_ms - bare_ms).toFixed(1)} ms on top of ${bare_ms.toFixed(1)} ms in the engine`,
  }
}

/** The same query answered from the cache, 64 connections. */
async function benchCachedQuery(port: number): Promise<Line> {
  const file = bodies('cached query.json', 1, () => queryBody('blocking'))
  const bare = await startBareServer()
  const rounds: { ours: LoadResult; bare: LoadResult }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      bare: await load(bare.port, 64, QUERY_PATH, file),
      ours: await load(port, 64, QUERY_PATH, file),
    })
  }
  bare.stop()
  return {
    name: 'POST …/query/ cached, 64 connections, answers/s',
    ours: median(rounds.map((round) => round.ours.requests_per_s)),
    bare: median(rounds.map((round) => round.bare.requests_per_s)),
    target: 0.4,
    note: `p99 ${median(rounds.map((round) => round.ours.p99_ms)).toFixed(1)} ms (bare ${median(rounds.map((round) => round.bare.p99_ms)).toFixed(1)}), refused ${rounds.reduce((sum, round) => sum + round.ours.refused, 0)}`,
  }
}

/** Typical queries on a million events, beside SQL by hand: all of them once, and the worst ratio. */
async function benchCompiledQueries(): Promise<Line> {
  const times = await queryRatios(SIZES.query_events)
  const inSeconds = (pick: (one: QueryTimes) => number): number =>
    Math.round((1000 * times.length) / times.reduce((sum, one) => sum + pick(one), 0))
  const ratioOf = (one: QueryTimes): number => one.bare_ms / one.ours_ms
  const [worst] = times.toSorted((one, other) => ratioOf(one) - ratioOf(other))
  return {
    name: `${times.length} typical HogQL queries in the engine, queries/s`,
    ours: inSeconds((one) => one.ours_ms),
    bare: inSeconds((one) => one.bare_ms),
    target: 0.8,
    note:
      worst === undefined ? 'none' : `worst: ${worst.name}, ${ratioOf(worst).toFixed(2)} × by hand`,
  }
}

/** The data set is made once: it stays where the next run finds it, unless it is made in a moment. */
const dataset = join(IS_SMALL ? folder : tmpdir(), `tidemark-insights-${INSIGHT_EVENTS}`)

/** HogQL queries over our files, beside SQL by hand over the best Parquet made by hand of the same events. */
async function benchHandMade(): Promise<readonly Line[]> {
  const times = await handTimes(dataset, INSIGHT_EVENTS)
  return times.map((one) => lineOf(one, 'HogQL, beside hand-made Parquet', 0.83))
}

/** Every insight, in answers per second, beside SQL by hand for the same numbers on the data set. */
async function benchInsights(): Promise<readonly Line[]> {
  const times = await insightTimes(dataset, INSIGHT_EVENTS)
  return times.map((one) => lineOf(one, 'insight', 0.33))
}

type Times = { readonly name: string; readonly ours_ms: number; readonly bare_ms: number }

function lineOf({ name, ours_ms, bare_ms }: Times, kind: string, target: number): Line {
  return {
    name: `${kind}, ${INSIGHT_EVENTS} events: ${name}, answers/s`,
    ours: Math.round(100_000 / ours_ms) / 100,
    bare: Math.round(100_000 / bare_ms) / 100,
    target,
    note: `${ours_ms.toFixed(1)} ms, by hand ${bare_ms.toFixed(1)} ms`,
  }
}

/** As much as an honest client may wait while others attack, and the worst single answer. */
const ATTACKED_P99_MS = 100
const ATTACKED_MAX_MS = 300

/** Requests of an honest client that could follow one another, each taking the slowest p99. */
async function benchAttack(): Promise<Line> {
  const times = await timesUnderAttack(join(folder, 'attacked'))
  const { p99_ms, max_ms, disk_max_ms, stall_ms, stalls } = times
  return {
    name: "honest client's p99 under attack, as answers/s",
    ours: Math.round(1000 / p99_ms),
    bare: 1000 / ATTACKED_P99_MS,
    target: 1,
    note: `p99 ${p99_ms.toFixed(0)} ms (at most ${ATTACKED_P99_MS}), worst ${max_ms.toFixed(0)} ms (${times.slowest}, at most ${ATTACKED_MAX_MS}; a bare block to the disk ${disk_max_ms.toFixed(0)}), refused ${times.refused}, longest stall ${stall_ms} ms: ${stalls.join('; ')}`,
  }
}

/** The first chart of a page in a browser, in charts per second that could follow one another, beside the budget. */
async function benchWeb(): Promise<readonly Line[]> {
  return (await chartTimes()).map(({ name, median_ms, fastest_ms, budget_ms }) => ({
    name: `first chart in a browser: ${name}, as charts/s`,
    ours: Math.round(100_000 / median_ms) / 100,
    bare: 1000 / budget_ms,
    target: 1,
    note: `median ${median_ms.toFixed(0)} ms, fastest ${fastest_ms.toFixed(0)} ms (at most ${budget_ms})`,
  }))
}

/** Frames of pages of much data, and capture while its events are followed live. */
async function benchPages(): Promise<readonly Line[]> {
  const scrolled = await scrollRows()
  const live = await liveTimes(bodies)
  if (scrolled === null || live === null) return []
  const p99Of = (results: readonly LoadResult[]): number =>
    median(results.map(({ p99_ms }) => p99_ms))
  const timeOf = (results: readonly LiveLoad[]): string =>
    median(results.map(({ event_us }) => event_us)).toFixed(0)
  const { alone, with_reader, with_page, browser_ms, frames } = live
  const refused = [...alone, ...with_reader, ...with_page].reduce(
    (sum, one) => sum + one.refused,
    0,
  )
  return [
    framesLine('SQL, 100,000 rows scrolled', scrolled),
    framesLine(`live events, ${LIVE_EVENTS_PER_S}/s`, frames),
    {
      name: `capture of ${LIVE_EVENTS_PER_S} events/s while they are followed live, 1000/p99`,
      ours: Math.round(1000 / p99Of(with_reader)),
      bare: Math.round(1000 / p99Of(alone)),
      target: 0.9,
      note: `p99 ${p99Of(with_reader).toFixed(1)} ms, alone ${p99Of(alone).toFixed(1)} ms; with the page in a browser of this machine ${p99Of(with_page).toFixed(1)} ms; the server's processor time for an event ${timeOf(alone)}, ${timeOf(with_reader)} and ${timeOf(with_page)} µs; the browser's for a second ${median(browser_ms).toFixed(0)} ms; refused ${refused}`,
    },
  ]
}

function framesLine(name: string, { count, slow, longest_ms }: Frames): Line {
  return {
    name: `${name}, frames of at most ${SLOW_FRAME_MS} ms`,
    ours: count - slow,
    bare: count,
    target: 0.99,
    note: `${slow} slower, the slowest ${longest_ms.toFixed(0)} ms`,
  }
}

/** Gives its lines together, or one by one. */
type Bench = (port: number) => AsyncIterable<Line> | Promise<Line | readonly Line[]>

async function* linesOf(measured: ReturnType<Bench>): AsyncIterable<Line> {
  if (measured instanceof Promise) yield* [await measured].flat()
  else yield* measured
}

/** What is measured, in order: all of it, or what the command line names. A new promise is a new line here. */
const BENCHES: Readonly<Record<string, Bench>> = {
  capture: benchCapture,
  edge: benchEdge,
  standby: benchStandby,
  start: benchStart,
  batch: benchBatch,
  import: benchImport,
  disk: benchDisk,
  decide: benchDecideOf(NEVER_TWICE),
  decide_few: benchDecideOf(FEW),
  decide_many: benchDecideOf(MANY),
  evaluation: benchEvaluation,
  query: benchQuery,
  cached: benchCachedQuery,
  compiled: benchCompiledQueries,
  by_hand: benchHandMade,
  insights: benchInsights,
  attack: benchAttack,
  web: benchWeb,
  pages: benchPages,
}

function textOf({ name, ours, bare, target, note }: Line): string {
  const ratio = ours / bare
  const verdict = ratio >= target ? 'reached' : 'MISSED'
  return `${name}: ${ours} (bare ${bare}) = ${ratio.toFixed(2)} ×, target ${target} × ${verdict}; ${note}`
}

/** What any p99 below has to be read beside: a share near one percent is in all of them. */
function textOfPauses({ watched_ms, lost_ms, longest_ms }: Pauses): string {
  const share = ((100 * lost_ms) / watched_ms).toFixed(2)
  return `this machine, every core busy: stands still ${share} % of the time, for up to ${longest_ms.toFixed(1)} ms`
}

/** The benches to run. Throws for a name that no bench has. */
function chosenBenches(names: readonly string[]): Bench[] {
  return (names.length === 0 ? Object.keys(BENCHES) : names).map((name) => {
    const bench = BENCHES[name]
    if (bench !== undefined) return bench
    throw new Error(`no bench ${name}; there are ${Object.keys(BENCHES).join(', ')}`)
  })
}

const benches = chosenBenches(process.argv.slice(2))
process.stdout.write(`${textOfPauses(await standstill(SECONDS))}\n`)
const server = await startServer({ data_dir: join(folder, 'data'), api_token: TOKEN })
try {
  for (const bench of benches) {
    const lines = linesOf(bench(Number(new URL(server.url).port)))
    for await (const line of lines) process.stdout.write(`${textOf(line)}\n`)
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
