/**
 * A project with as many things as it may keep holds no thread: every list, look-up and table is asked, and every write
 * is sent, while each kind is full. A turn of an event loop is measured in processor time, since a busy machine stretches
 * any other. By default the project keeps fewer; FULL_PROJECT=1 fills all of it: `bun run check:long`.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ROUTES } from '../../src/app.ts'
import { MIB } from '../../src/bytes.ts'
import { createEventLoops, takeLongestTurn } from '../../src/threads/loop-memory.ts'
import { pathIn } from '../attack/route-attacks.ts'
import { limitTests } from '../long-tests.ts'
import { measureTurns } from '../threads/longest-turn.ts'
import { allWrites, fillProject, type Stock } from './full-project.ts'
import { openWorld, type World } from './world.ts'

limitTests(900_000)

const IS_FULL = Bun.env['FULL_PROJECT'] === '1'
const FULLNESS = IS_FULL ? { things: 20_000, flags: 5000 } : { things: 1000, flags: 500 }

/** The promise. */
const TURN_MS_MAX = 50

/** Code is compiled the first times, other work may share a turn, and memory is collected at any time: what is long is so each time. */
const TRIES_MAX = 5

/** Routes whose answers end when their reader leaves. */
const ENDLESS = /live|stream/

/** Writes that this world cannot grant: a browser's session, a dashboard with figures of use; new persons are refused to all. */
const REFUSED: ReadonlySet<string> = new Set([
  'DELETE /api/sessions/:session_id/',
  'POST /api/users/@me/password/ query',
  'POST feature_flags/:id/enrich_usage_dashboard/',
  'POST persons/',
])

/** The heart beats often, so that the processor time between two beats is that of one turn. */
const BEAT_MS = 1
const event_loops = createEventLoops(BEAT_MS)

let world: World
let stock: Stock
beforeAll(async () => {
  // What writes add is beyond the limits.
  const limits = { saved_max: 100_000, flags_max: 10_000, saved_bytes_max: 64 * MIB }
  world = await openWorld({ event_loops, ...limits })
  stock = await fillProject(world, FULLNESS)
})
afterAll(() => world.close())

/** What is asked, and when it is asked again: each answer is read to its end. */
type Asked = { readonly name: string; readonly ask: () => Promise<Response> }

type Measured = {
  /** The longest turn of the try in which it was shortest, by thread. */
  readonly main_ms: number
  readonly data_ms: number
  readonly statuses: readonly number[]
}

/** Asks until every thread has had a short turn, or a few times. Ends with the first refusal after an acceptance. */
async function measure(ask: () => Promise<Response>): Promise<Measured> {
  let main_ms = Number.POSITIVE_INFINITY
  let data_ms = Number.POSITIVE_INFINITY
  const statuses: number[] = []
  while (statuses.length < TRIES_MAX && Math.max(main_ms, data_ms) > TURN_MS_MAX) {
    takeLongestTurn(event_loops.data)
    const { result, longest_ms } = await measureTurns(async () => {
      const response = await ask()
      await response.arrayBuffer()
      return response.status
    })
    if ((statuses[0] ?? 400) < 400 && result >= 400) break
    statuses.push(result)
    main_ms = Math.min(main_ms, longest_ms)
    data_ms = Math.min(data_ms, takeLongestTurn(event_loops.data))
  }
  return { main_ms, data_ms, statuses }
}

const isLong = ({ main_ms, data_ms }: Measured): boolean => Math.max(main_ms, data_ms) > TURN_MS_MAX

const lineOf = (name: string, { main_ms, data_ms, statuses }: Measured): string =>
  `main ${main_ms.toFixed(0)} ms, data ${data_ms.toFixed(0)} ms: ${name} ${statuses.join(' ')}`

const insightNodes = (): readonly object[] => [
  { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'open' }] },
  { kind: 'TrendsQuery', series: [{ kind: 'ActionsNode', id: 1 }] },
  // By hour as far as ranges go: each step is a row of the answer.
  ...['LifecycleQuery', 'StickinessQuery'].map((kind) => ({
    kind,
    series: [{ kind: 'EventsNode', event: 'open' }],
    interval: 'hour',
    dateRange: { date_from: '-61d' },
  })),
  ...[
    'actions',
    'cohorts',
    'dashboards',
    'experiments',
    'feature_flags',
    'insights',
    'surveys',
  ].map((table) => ({ kind: 'HogQLQuery', query: `select count() from system.${table}` })),
  { kind: 'HogQLQuery', query: "select 1 from events where person_id in cohort 'nowhere'" },
  { kind: 'HogQLQuery', query: "select 1 from events where matchesAction('nowhere')" },
  { kind: 'HogQLQuery', query: 'select count() from cohort_people' },
]

function allReads(): readonly Asked[] {
  const { place } = stock
  const routes = ROUTES.filter(
    ({ method, paths: [path = ''] }) => method === 'GET' && !ENDLESS.test(path),
  )
    .map((route) => pathIn(route, place))
    .concat('/api/projects/1/surveys/stats/?exclude_archived=true')
    .map((path): Asked => ({ name: `GET ${path}`, ask: () => place.send('GET', path) }))
  const queries = insightNodes().map((query): Asked => {
    const body = JSON.stringify({ query, refresh: 'force_blocking' })
    return {
      name: JSON.stringify(query),
      ask: () => place.send('POST', '/api/projects/1/query/', body),
    }
  })
  const token = place.api_token
  const flags = ['/flags/?v=2', '/decide/?v=3'].map((path): Asked => {
    const body = JSON.stringify({ token, distinct_id: 'ann' })
    return { name: path, ask: () => world.send(path, { method: 'POST', body }) }
  })
  return [...routes, ...queries, ...flags]
}

test(`a project with ${FULLNESS.things} things of each kind holds no turn of the event loop, whatever is read`, async () => {
  const long: string[] = []
  const faults: string[] = []
  for (const { name, ask } of allReads()) {
    const measured = await measure(ask)
    if (isLong(measured)) long.push(lineOf(name, measured))
    if (measured.statuses.some((status) => status >= 500)) faults.push(lineOf(name, measured))
  }
  expect(long).toEqual([])
  expect(faults).toEqual([])
})

test('nor do writes, and the deletion of all of it, on the main thread or the data thread', async () => {
  const { place } = stock
  const long: string[] = []
  const refused: string[] = []
  for (const { name, method, family, call } of allWrites(stock)) {
    const measured = await measure(async () => {
      const { path, body } = call()
      const answer = await place.send(method, path, body === null ? null : JSON.stringify(body))
      if (answer.status === 201) stock.addMade(family, await answer.clone().text())
      return answer
    })
    if (isLong(measured)) long.push(lineOf(name, measured))
    const is_refused = measured.statuses.some((status) => status >= 400)
    if (is_refused !== REFUSED.has(name)) refused.push(lineOf(name, measured))
  }
  expect(long).toEqual([])
  expect(refused).toEqual([])
})
