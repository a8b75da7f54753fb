/** A project with as many things as it may keep, and every write of the management API with a body that it accepts. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { ROUTES } from '../../src/app.ts'
import type { Route } from '../../src/http/route.ts'
import { MEMBER, memberships } from '../../src/projects/tables.ts'
import { createUser } from '../../src/projects/users/user.ts'
import { pathIn } from '../attack/route-attacks.ts'
import { bodiesOf, GOOD_BODIES } from './bodies/good-bodies.ts'
import { furnish, type Place, placeOf } from './two-places.ts'
import type { World } from './world.ts'

/** How many things of each kind there are, and how many flags. */
type Fullness = { readonly things: number; readonly flags: number }

/** The tables of what a project keeps, with the columns that must differ from one row to the next. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  actions: ['name'],
  annotations: [],
  cohorts: [],
  dashboards: [],
  early_access_features: ['id'],
  experiment_holdouts: [],
  experiment_saved_metrics: [],
  experiments: [],
  feature_flags: ['key'],
  insight_variables: ['id', 'name', 'code_name'],
  insights: ['short_id'],
  surveys: ['id', 'name'],
}

/** Persons, names of events and properties: enough that each write finds one that no other has changed. */
const PERSONS = 120

/** Copies that are in another state than the furnished one: an experiment that runs, a draft of a survey. */
const STATES: Readonly<Record<string, readonly [table: string, change: string]>> = {
  'draft experiments': ['experiments', 'start_date = null'],
  'ended experiments': ['experiments', 'end_date = start_date + 86400000'],
  'archived experiments': ['experiments', 'end_date = start_date + 86400000, archived = 1'],
  'launched surveys': ['surveys', 'start_date = created_at'],
}

/** Fills the first project of a world. */
export async function fillProject(world: World, fullness: Fullness): Promise<Stock> {
  const place = placeOf(world, { ...world.first, key: world.first.personal_api_key })
  await furnish(world, place, 'full')
  await sendPersons(world)
  const db = new Database(join(world.data_dir, 'control.db'))
  copyRows(db, fullness)
  const stock = new Stock(place)
  for (const table of Object.keys(TABLES)) {
    const family = table === 'early_access_features' ? 'early_access_feature' : table
    const select = `select cast(id as text) as id from "${table}" where project_id = 1 limit 200`
    const ids = db.query<{ id: string }, []>(select).all()
    stock.add(
      family,
      ids.map(({ id }) => id),
    )
  }
  for (const [state, [table, change]] of Object.entries(STATES)) {
    const ids = stock.takeMany(table, 10)
    db.run(`update "${table}" set ${change} where id in (${ids.map((id) => `'${id}'`).join(', ')})`)
    stock.add(state, ids)
  }
  db.close()
  await stockOthers(world, stock)
  return stock
}

/** Copies one row of each table until it is full. */
function copyRows(db: Database, { things, flags }: Fullness): void {
  for (const [table, unique] of Object.entries(TABLES)) {
    const columns = db
      .query<{ name: string; type: string }, []>(`pragma table_info("${table}")`)
      .all()
      .filter(({ name, type }) => name !== 'id' || type === 'TEXT')
      .map(({ name }) => name)
    const values = columns.map((name) => (unique.includes(name) ? valueOf(name) : `"${name}"`))
    const names = columns.map((name) => `"${name}"`)
    db.run(
      `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?)
       insert into "${table}" (${names.join(', ')})
       select ${values.join(', ')} from numbers, (select * from "${table}" where project_id = 1 limit 1)`,
      [table === 'feature_flags' ? flags : things],
    )
  }
}

/** SQL of a value that no other row has: of ids a UUID. */
const valueOf = (column: string): string =>
  column === 'id' ? "printf('00000000-0000-4000-8000-%012d', n)" : `"${column}" || '_' || n`

/** Persons with events, properties and groups; every other one was merged of two. */
async function sendPersons(world: World): Promise<void> {
  const persons = Array.from({ length: PERSONS }, (_, at) => [
    {
      event: `event ${at}`,
      distinct_id: `person ${at}`,
      properties: { [`property ${at}`]: at, $set: { plan: 'pro', n: at } },
    },
    {
      event: '$groupidentify',
      distinct_id: 'grouped',
      properties: { $group_type: 'full', $group_key: `group ${at}`, $group_set: { a: 1, plan: 1 } },
    },
  ]).flat()
  const merges = Array.from({ length: PERSONS / 4 }, (_, at) => ({
    event: '$merge_dangerously',
    distinct_id: `person ${4 * at}`,
    properties: { alias: `person ${4 * at + 1}` },
  }))
  const batch = [...persons, ...merges]
  const body = JSON.stringify({ api_key: world.first.api_token, batch })
  const answer = await world.send('/batch/', { method: 'POST', body })
  if (answer.status !== 200) throw new Error(`not stored: ${await answer.text()}`)
}

/** Adds what is not copied: persons and names, another project and member, a dashboard with tiles, an insight of trends. */
async function stockOthers(world: World, stock: Stock): Promise<void> {
  const { place } = stock
  const root = '/api/projects/1/'
  const merged = Array.from({ length: PERSONS / 4 }, (_, at) => `person ${4 * at}`)
  const single = Array.from({ length: PERSONS / 4 }, (_, at) => `person ${4 * at + 2}`)
  for (const [family, names] of [
    ['merged persons', merged],
    ['persons', single],
  ] as const) {
    const found = names.map((name) => `${root}persons/?distinct_id=${encodeURIComponent(name)}`)
    for (const path of found) stock.add(family, await idsIn(place, path))
  }
  for (const family of ['event_definitions', 'property_definitions']) {
    stock.add(family, await idsIn(place, `${root}${family}/?limit=100`))
  }
  const { control } = world.needs
  const { organization_id } = world.first
  const now = new Date()
  for (let at = 0; at < 6; at += 1) {
    const user = createUser(control, { email: `${at}@full.example`, first_name: 'Full' }, now)
    control
      .insert(memberships)
      .values({ organization_id, user_id: user.id, level: MEMBER, joined_at: now })
      .run()
    stock.add('members', [user.uuid])
  }
  const trends = await stock.make(`${root}insights/`, GOOD_BODIES['insights'])
  stock.add('trends', [trends.id])
  await stock.make(`${root}feature_flags/`, { key: 'other' })
  for (let at = 0; at < 12; at += 1) {
    const project = await stock.make('/api/projects/', { name: `other ${at}` })
    stock.add('other projects', [project.id])
    const dashboard = await stock.make(`${root}dashboards/`, {
      tiles: [{ text: { body: 'one' } }, { text: { body: 'two' } }],
    })
    stock.add('boards', [dashboard.id])
    stock.add('tiles', [dashboard.tiles.map(({ id }) => String(id)).join()])
  }
}

async function idsIn(place: Place, path: string): Promise<readonly string[]> {
  const text = await (await place.send('GET', path)).text()
  const { results }: { results: readonly { id: string }[] } = JSON.parse(text)
  return results.map(({ id }) => id)
}

type Made = { readonly id: string; readonly tiles: readonly { readonly id: number }[] }

/** Ids of what there is, by the name of the family: writes change and delete things that no other write has touched. */
export class Stock {
  readonly place: Place
  readonly #ids = new Map<string, string[]>()
  #names = 0

  constructor(place: Place) {
    this.place = place
  }

  add(family: string, ids: readonly string[]): void {
    this.#ids.set(family, [...(this.#ids.get(family) ?? []), ...ids])
  }

  /** Takes one, the latest first; the last one is only lent. */
  take(family: string): string {
    const ids = this.#ids.get(family) ?? []
    return (ids.length > 1 ? ids.pop() : ids[0]) ?? '1'
  }

  takeMany(family: string, count: number): readonly string[] {
    return Array.from({ length: count }, () => this.take(family))
  }

  /** Adds the thing of an answer, if it is one. */
  addMade(family: string, text: string): void {
    const { id }: { readonly id?: number | string } = text === '' ? {} : JSON.parse(text)
    if (id !== undefined) this.add(family, [String(id)])
  }

  /** A name that nothing has yet. */
  name(): string {
    this.#names += 1
    return `name-${this.#names}`
  }

  async make(path: string, body: unknown): Promise<Made> {
    const answer = await this.place.send('POST', path, JSON.stringify(body))
    const text = await answer.text()
    if (answer.status !== 201) throw new Error(`${path} ${answer.status} ${text}`)
    return JSON.parse(text) as Made
  }
}

/** A call of a route, made anew for each try. */
type Write = {
  readonly name: string
  readonly method: string
  readonly family: string
  readonly call: () => { readonly path: string; readonly body: object | null }
}

/** Replaces parts of a generated call: the path as it is below the project, the body. */
type Replaced = { readonly path?: string; readonly body?: object }

const METRIC = GOOD_BODIES['experiment_saved_metrics']
const scheduled = (stock: Stock) => ({
  record_id: stock.take('feature_flags'),
  model_name: 'FeatureFlag',
  payload: { operation: 'update_status', value: true },
  scheduled_at: '2099-01-01T00:00:00Z',
})
const GROUP = 'group_type_index=0&group_key='
const groupPath = (path: string, at: number): string =>
  `${path}?${GROUP}${encodeURIComponent(`group ${at}`)}`
const survey = {
  ...GOOD_BODIES['surveys'],
  targeting_flag_filters: { groups: [{ properties: [], rollout_percentage: 50 }] },
}
const funnel = { events: [{ id: 'open' }, { id: 'buy', order: 1 }] }
const CORRELATION = {
  ...funnel,
  insight: 'FUNNELS',
  funnel_correlation_type: 'events',
  funnel_correlation_person_converted: true,
  funnel_correlation_person_entity: { id: 'help', type: 'events' },
}
const boardTiles = (stock: Stock) =>
  stock
    .take('tiles')
    .split(',')
    .map((id) => Number(id))
const tileBoard = (stock: Stock) => {
  const id = stock.take('boards')
  return { path: `dashboards/${id}/`, tiles: boardTiles(stock) }
}

/** Writes whose generated call would be refused, by the route's path below the project or the organization. */
const REPLACED: Readonly<Record<string, (stock: Stock) => Replaced>> = {
  'POST query/download/': () => ({
    path: 'query/download/?format=csv',
    body: { query: { kind: 'HogQLQuery', query: 'select 1' } },
  }),
  'POST insights/cancel/': () => ({ body: { client_query_id: 'none' } }),
  'POST alerts/': (stock) => ({
    body: { ...GOOD_BODIES['alerts'], insight: Number(stock.take('trends')) },
  }),
  'PATCH alerts/:alert_id/': () => ({ body: { name: 'renamed' } }),
  'POST cohorts/': () => ({ body: GOOD_BODIES['cohorts'] ?? {} }),
  'PATCH cohorts/:id/': () => ({ body: GOOD_BODIES['cohorts'] ?? {} }),
  'POST dashboards/': () => ({ body: { ...GOOD_BODIES['dashboards'], tiles: [] } }),
  'PATCH dashboards/:id/': (stock) => {
    const { path, tiles } = tileBoard(stock)
    return { path, body: { ...GOOD_BODIES['dashboards'], tiles: tiles.map((id) => ({ id })) } }
  },
  'POST dashboards/:id/reorder_tiles/': (stock) => {
    const { path, tiles } = tileBoard(stock)
    return { path: `${path}reorder_tiles/`, body: { tile_order: tiles } }
  },
  'PATCH dashboards/:id/move_tile/': (stock) => {
    const { path, tiles } = tileBoard(stock)
    return { path: `${path}move_tile/`, body: { tile: { id: tiles[0] }, toDashboard: 1 } }
  },
  'PATCH dashboards/:id/sharing/': () => ({ body: { enabled: true } }),
  'POST dashboards/create_from_template_json/': () => ({
    body: { template: { tiles: [{ type: 'TEXT', body: 'a' }] } },
  }),
  'POST early_access_feature/': (stock) => ({ body: { name: stock.name(), stage: 'beta' } }),
  'PATCH early_access_feature/:id/': () => ({ body: { stage: 'beta' } }),
  'POST experiments/': (stock) => ({
    body: { ...GOOD_BODIES['experiments'], feature_flag_key: stock.name() },
  }),
  'PATCH experiments/:id/': (stock) => ({
    path: `experiments/${stock.take('draft experiments')}/`,
    body: { name: 'renamed', metrics: [METRIC === undefined ? {} : Reflect.get(METRIC, 'query')] },
  }),
  'POST experiments/:id/launch/': (stock) => ({
    path: `experiments/${stock.take('draft experiments')}/launch/`,
  }),
  'POST experiments/:id/pause/': (stock) => {
    const id = stock.take('experiments')
    stock.add('paused experiments', [id])
    return { path: `experiments/${id}/pause/` }
  },
  'POST experiments/:id/resume/': (stock) => ({
    path: `experiments/${stock.take('paused experiments')}/resume/`,
  }),
  'POST experiments/:id/archive/': (stock) => ({
    path: `experiments/${stock.take('ended experiments')}/archive/`,
  }),
  'POST experiments/:id/unarchive/': (stock) => ({
    path: `experiments/${stock.take('archived experiments')}/unarchive/`,
  }),
  'POST experiments/:id/duplicate/': (stock) => ({
    body: { name: stock.name(), feature_flag_key: stock.name() },
  }),
  'POST experiments/:id/copy_to_project/': (stock) => ({
    body: {
      target_team_id: Number(stock.take('other projects')),
      name: stock.name(),
      feature_flag_key: stock.name(),
    },
  }),
  'PATCH groups_types/update_metadata/': () => ({
    body: [{ group_type_index: 0, name_singular: 'group', name_plural: 'groups' }],
  }),
  'POST experiment_saved_metrics/': (stock) => ({ body: { ...METRIC, name: stock.name() } }),
  'PATCH experiment_saved_metrics/:id/': (stock) => ({ body: { ...METRIC, name: stock.name() } }),
  'POST groups/update_property/': () => ({
    path: groupPath('groups/update_property/', 1),
    body: { key: 'plan', value: 'pro' },
  }),
  'POST groups/delete_property/': (stock) => ({
    path: groupPath('groups/delete_property/', Number(stock.take('groups'))),
    body: { $unset: ['plan'] },
  }),
  'DELETE groups/find/': (stock) => ({
    path: groupPath('groups/find/', Number(stock.take('groups'))),
  }),
  'POST scheduled_changes/': (stock) => ({ body: scheduled(stock) }),
  'PATCH scheduled_changes/:id/': () => ({ body: { scheduled_at: '2098-01-01T00:00:00Z' } }),
  'POST surveys/': () => ({ body: survey }),
  'PATCH surveys/:id/': () => ({ body: survey }),
  'POST surveys/:id/stop/': (stock) => ({
    path: `surveys/${stock.take('launched surveys')}/stop/`,
  }),
  'POST surveys/:id/responses/:uuid/archive/': (stock) => ({
    path: `surveys/${stock.take('surveys')}/responses/${Bun.randomUUIDv7()}/archive/`,
  }),
  'POST surveys/:id/responses/:uuid/unarchive/': (stock) => ({
    path: `surveys/${stock.take('surveys')}/responses/${Bun.randomUUIDv7()}/unarchive/`,
  }),
  'POST surveys/:id/duplicate_to_projects/': (stock) => ({
    body: { target_team_ids: [Number(stock.take('other projects'))] },
  }),
  'POST feature_flags/bulk_keys/': (stock) => ({
    body: { ids: stock.takeMany('feature_flags', 2).map(Number) },
  }),
  'POST feature_flags/bulk_delete/': (stock) => ({
    body: { ids: stock.takeMany('feature_flags', 5).map(Number) },
  }),
  'POST feature_flags/bulk_update_tags/': (stock) => ({
    body: { ids: stock.takeMany('feature_flags', 5).map(Number), action: 'add', tags: ['a'] },
  }),
  'POST feature_flags/copy_flags/': (stock) => ({
    body: {
      feature_flag_key: 'other',
      from_project: 1,
      target_project_ids: [Number(stock.take('other projects'))],
    },
  }),
  'POST feature_flags/:id/test_evaluation/': () => ({ body: { distinct_id: 'ann' } }),
  'POST feature_flags/': (stock) => ({
    body: { ...GOOD_BODIES['feature_flags'], key: stock.name() },
  }),
  'PATCH feature_flags/:id/': (stock) => ({
    body: { ...GOOD_BODIES['feature_flags'], key: stock.name() },
  }),
  'POST projects/': (stock) => ({ body: { name: stock.name() } }),
  'POST /api/projects/': (stock) => ({ body: { name: stock.name() } }),
  'DELETE projects/:project_id/': (stock) => ({
    path: `projects/${stock.take('other projects')}/`,
  }),
  'DELETE ': (stock) => ({ path: `/api/organizations/${stock.take('organizations')}/` }),
  'POST persons/funnel/correlation/': () => ({ body: CORRELATION }),
  'POST persons/funnel/': () => ({ body: { ...funnel, funnel_step: 1 } }),
  'POST persons/:person_id/split/': (stock) => ({
    path: `persons/${stock.take('merged persons')}/split/`,
    body: {},
  }),
  'POST persons/:person_id/undo_merge/': (stock) => ({
    path: `persons/${stock.take('merged persons')}/undo_merge/`,
    body: {},
  }),
  'POST persons/:person_id/delete_property/': () => ({ body: { $unset: ['plan'] } }),
  'POST persons/bulk_delete/': (stock) => ({
    body: { ids: stock.takeMany('persons', 2), delete_events: true },
  }),
  'POST insights/funnel/correlation/': () => ({ body: funnel }),
  'POST hooks/': () => ({
    body: { target: 'https://hooks.example.com/x', event: 'action_performed', resource_id: 1 },
  }),
  'POST insight_variables/': (stock) => ({
    body: { ...GOOD_BODIES['insight_variables'], name: stock.name() },
  }),
  'POST exports/': (stock) => ({
    body: { export_format: 'text/csv', insight: Number(stock.take('insights')) },
  }),
  'POST web_experiments/': (stock) => ({
    body: { ...GOOD_BODIES['web_experiments'], name: stock.name() },
  }),
  'POST actions/': (stock) => ({ body: { ...GOOD_BODIES['actions'], name: stock.name() } }),
  'PATCH actions/:id/': (stock) => ({ body: { ...GOOD_BODIES['actions'], name: stock.name() } }),
  'PATCH users/@me/': () => ({ body: { first_name: 'Olga' } }),
}

const ORDER = ['POST', 'PATCH', 'PUT', 'DELETE']

/** Every write of the management API, in an order in which none takes the ground from under the next. */
export function allWrites(stock: Stock): readonly Write[] {
  stock.add(
    'groups',
    Array.from({ length: 20 }, (_, at) => String(at + 2)),
  )
  const patched = new Set(ROUTES.flatMap(({ method, paths }) => (method === 'PATCH' ? paths : [])))
  return ROUTES.filter(({ method, paths: [path = ''] }) =>
    method === 'PUT' ? !patched.has(path) : method !== 'GET',
  )
    .toSorted((one, other) => ORDER.indexOf(one.method) - ORDER.indexOf(other.method))
    .flatMap((route) => writesOf(route, stock))
    .concat(deletionOf('/api/projects/1/'))
}

function deletionOf(path: string): Write {
  const call = () => ({ path, body: null })
  return { name: `DELETE ${path}`, method: 'DELETE', family: '', call }
}

/** The path of a route below its project or organization. */
const below = ({ paths: [path = ''] }: Route): string =>
  path.replace(/^\/api\/(environments\/:project_id|organizations\/:organization_id)\//, '')

function writesOf(route: Route, stock: Stock): readonly Write[] {
  const short = below(route)
  const replace = REPLACED[`${route.method} ${short}`]
  const family = short.split('/').findLast((part) => part !== '' && !part.startsWith(':')) ?? ''
  const bodies = route.body === null || replace !== undefined ? [null] : bodiesOf(short)
  return bodies.map((name): Write => {
    const call = () => {
      const replaced = replace?.(stock) ?? {}
      const good = name === null ? null : GOOD_BODIES[name]
      return { path: pathOf(route, stock, replaced.path), body: replaced.body ?? good ?? null }
    }
    const { method } = route
    return { name: `${method} ${short} ${name ?? ''}`.trim(), method, family, call }
  })
}

function pathOf(route: Route, stock: Stock, replaced: string | undefined): string {
  if (replaced?.startsWith('/') === true) return replaced
  const [path = ''] = route.paths
  const short = below(route)
  const root = path.slice(0, path.length - short.length)
  const named = (replaced ?? short).replace(
    /([\w@]+)\/:(?!project_id)\w+/,
    (_whole, family: string) => `${family}/${stock.take(family)}`,
  )
  return pathIn({ ...route, paths: [root + named] }, stock.place)
}
