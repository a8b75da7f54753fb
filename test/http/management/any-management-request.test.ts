/** Whatever is sent to the management API: answered as described or refused with a reason, and nothing of others is told. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import * as fc from 'fast-check'
import { ROUTES } from '../../../src/app.ts'
import { bodiesOf, GOOD_BODIES } from '../bodies/good-bodies.ts'
import { type Json, ODD, placesIn, withOdd } from '../bodies/odd-values.ts'
import { untold } from '../described.ts'
import { openTwoPlaces, type Place, readAll, SECRET } from '../two-places.ts'
import { openWorld, type World } from '../world.ts'

/** The same requests in every run; another number tries others. */
const SEED = Number(Bun.env['SEED'] ?? 1)
const REQUESTS = Number(Bun.env['REQUESTS'] ?? 300)

setDefaultTimeout(240_000 + 100 * REQUESTS)

let world: World
let home: Place
let abroad: Place
beforeAll(async () => {
  world = await openWorld()
  const places = await openTwoPlaces(world)
  home = places.home
  abroad = places.abroad
})
afterAll(() => world.close())

/** What may stand in the place of an id. */
const ODD_IDS = [
  '0',
  '-1',
  '1.5',
  '1e3',
  '999999',
  '9007199254740993',
  '9'.repeat(30),
  'x',
  'null',
  '@me',
  '%00',
  '%27',
  '%2F',
  '%',
  '%ff',
  '%F0%9F%92%A9',
  ' ',
  '__proto__',
  '*',
  '00000000-0000-4000-8000-000000000000',
  `a${'b'.repeat(3000)}`,
]
const PARAMETERS = [
  'limit',
  'offset',
  'search',
  'format',
  'refresh',
  'properties',
  'after',
  'before',
  'type',
  'group_type_index',
  'key',
  'value',
  'person_id',
  'distinct_id',
  'orderBy',
  'page',
  'scope',
]

/** As text of an address, in which lone surrogates cannot be written. */
const textOf = (value: Json): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed()

const places = Object.fromEntries(
  Object.entries(GOOD_BODIES).map(([name, body]) => [name, placesIn(body)]),
)

const often = <Word extends string>(word: Word, times: number): readonly Word[] =>
  Array.from({ length: times }, () => word)

const oddly = fc.record({ where: fc.nat(), odd: fc.constantFrom(...ODD) })
const request = fc.record({
  route: fc.constantFrom(...ROUTES),
  name: fc.nat(),
  which: fc.nat(),
  whose: fc.constantFrom(...often('own', 8), 'foreign', 'odd'),
  where: fc.constantFrom(...often('home', 10), ...often('current', 3), 'odd'),
  odd_id: fc.constantFrom(...ODD_IDS),
  body: fc.constantFrom('good', 'changed', 'changed', 'changed', 'random', 'broken', 'none'),
  changes: fc.array(oddly, { minLength: 1, maxLength: 3 }),
  random: fc.jsonValue({ maxDepth: 3 }),
  parameters: fc.array(
    fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(...ODD), fc.constantFrom('1', '5', 'csv', 'json'))),
    { maxLength: 3 },
  ),
})
type Asked = typeof request extends fc.Arbitrary<infer One> ? One : never

/** What would take the ground from under the other requests. */
function isFatal({ route, whose }: Asked): boolean {
  const path = route.paths[0] ?? ''
  if (route.method === 'DELETE' && /:(project|organization)_id\/$/.test(path)) return true
  return route.method !== 'GET' && /:(key_id|user_uuid)/.test(path) && whose === 'own'
}

/** Ids of what requests made, by the name of the family: for others to delete. */
const made = new Map<string, string[]>()

/** Notes what was made, and makes `@current` mean home again. */
async function remember(path: string, { status }: Response, text: string): Promise<void> {
  const body = JSON.stringify({ set_current_team: home.project_id })
  if (/projects|organizations|@me/.test(path)) await home.send('PATCH', '/api/users/@me/', body)
  const family = /([\w@]+)\/?(\?|$)/.exec(path)?.[1] ?? ''
  if (status !== 201 || text === '') return
  const { id } = JSON.parse(text) as { readonly id?: unknown }
  made.set(family, [...(made.get(family) ?? []), String(id)])
}

/** The path of a request, with ids of what is ours, of what is others', or of what is nowhere. */
function targetOf(asked: Asked): string {
  const { route, whose, where, odd_id } = asked
  const path = route.paths[asked.name % route.paths.length] ?? ''
  const rooms = {
    home: [String(home.project_id), home.organization_id],
    current: ['@current', '@current'],
    odd: [
      whose === 'foreign' ? String(abroad.project_id) : odd_id,
      whose === 'foreign' ? abroad.organization_id : odd_id,
    ],
  }[where]
  const filled = path
    .replace(':project_id', rooms[0] ?? '')
    .replace(':organization_id', rooms[1] ?? '')
    .replace(/([\w@]+)\/:\w+/, (_whole, family: string) => {
      const own = route.method === 'DELETE' ? made : home.ids
      const ids = (whose === 'foreign' ? abroad.ids : own).get(family) ?? [odd_id]
      return `${family}/${whose === 'odd' ? odd_id : (ids[asked.which % ids.length] ?? odd_id)}`
    })
  const known = Object.keys(route.query?.['properties'] ?? {})
  const names = [...known, ...known, ...PARAMETERS]
  const query = asked.parameters.map(
    ([at, value]) => `${names[at % names.length] ?? ''}=${encodeURIComponent(textOf(value))}`,
  )
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}

function bodyOf({ route, which, body, changes, random }: Asked): string | null {
  if (route.method === 'GET' || body === 'none') return null
  const names = bodiesOf(route.paths[0] ?? '')
  const name = names[which % names.length] ?? ''
  const good: unknown = GOOD_BODIES[name]
  const its = places[name] ?? [[]]
  if (body === 'good') return JSON.stringify(good)
  if (body === 'broken') return JSON.stringify(good).slice(0, which % 200)
  if (body === 'random') return JSON.stringify(random)
  const foreign = [...abroad.ids.values()].flat()
  const strange = (value: Json): unknown => {
    const id = foreign[which % foreign.length] ?? ''
    return value === 7 ? Number(id) || id : value === 'x' ? id : value
  }
  const changed = changes.reduce<unknown>(
    (value, { where, odd }) => withOdd(value, its[where % its.length] ?? [], strange(odd)),
    good,
  )
  return JSON.stringify(changed)
}

/** What only a fault of ours would say. */
const INSIDE = /\n\s+at |\.ts:\d|node_modules|TypeError|SQLITE|(Binder|Catalog|INTERNAL) Error/i

/** What is wrong with the answer to a request. */
function faultsIn(method: string, path: string, answer: Response, text: string): readonly string[] {
  const { status, headers } = answer
  const is_json = headers.get('content-type') === 'application/json'
  return [
    ...(status >= 500 ? [`${status} ${text}`] : []),
    ...(is_json ? untold({ method, path, status, text }) : []),
    ...(INSIDE.exec(text) ?? []),
    ...(text.includes(SECRET) ? [`told of others: ${text}`] : []),
  ]
}

test('any request is answered as described, and tells nothing of others', async () => {
  const before = await readAll(abroad)
  const statuses = new Map<number, number>()
  const faults: unknown[] = []
  for (const one of fc.sample(request, { numRuns: REQUESTS, seed: SEED })) {
    if (isFatal(one)) continue
    const { method } = one.route
    const path = targetOf(one)
    const body = bodyOf(one)
    const answer = await home.send(method, path, body)
    const text = await answer.text()
    const found = faultsIn(method, path, answer, text)
    if (found.length > 0) faults.push({ method, path, body, found })
    await remember(path, answer, text)
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
  }
  expect(faults).toEqual([])
  // Requests that are all refused would show little.
  expect(statuses.get(200)).toBeGreaterThan(REQUESTS / 10)
  expect(statuses.get(201)).toBeGreaterThan(REQUESTS / 100)
  expect(world.log_lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
  expect(await readAll(abroad)).toEqual(before)
  expect((await home.send('GET', `/api/projects/${home.project_id}/`)).status).toBe(200)
})
