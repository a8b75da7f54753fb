/** A world with two strangers in it: each has an organization and one of everything, and sees nothing of the other's. */
import { createApiKey } from '../../src/projects/keys/api-key.ts'
import { createOrganization } from '../../src/projects/organization.ts'
import { createProject } from '../../src/projects/settings/project.ts'
import { createUser } from '../../src/projects/users/user.ts'
import type { WorldProject } from './world.ts'

/** Stands in everything that the other one has, and in no request. */
export const SECRET = 'abroad-only'

/** What is made at home and abroad before anything is asked, by the name of its family. */
const FIRST: Readonly<Record<string, object>> = {
  actions: { name: SECRET, steps: [{ event: 'open' }] },
  cohorts: { name: SECRET, is_static: true },
  feature_flags: { key: SECRET, filters: { groups: [{ rollout_percentage: 50 }] } },
  dashboards: { name: SECRET },
  insights: {
    name: SECRET,
    query: { kind: 'DataTableNode', source: { kind: 'EventsQuery', select: ['event'] } },
  },
  annotations: { content: SECRET },
  early_access_feature: { name: `early ${SECRET}`, stage: 'draft' },
  experiment_holdouts: { name: SECRET, filters: [{ properties: [], rollout_percentage: 5 }] },
  experiment_saved_metrics: {
    name: SECRET,
    query: {
      kind: 'ExperimentMetric',
      metric_type: 'mean',
      source: { kind: 'EventsNode', event: SECRET },
    },
  },
  experiments: { name: SECRET, feature_flag_key: `${SECRET}-x`, start_date: '2026-01-01' },
  web_experiments: { name: SECRET, variants: { control: {}, test: {} } },
  insight_variables: { name: SECRET, type: 'Number' },
  surveys: { name: SECRET, type: 'api', questions: [{ type: 'open', question: SECRET }] },
  plugin_configs: { plugin: 5, name: SECRET },
}

export type Place = {
  readonly project_id: number
  readonly organization_id: string
  readonly api_token: string
  readonly key: string
  /** Ids of what is there, by the name of the family in the path. */
  readonly ids: Map<string, readonly string[]>
  /** Calls the management API with the place's key. */
  send(method: string, path: string, body?: string | null): Promise<Response>
}

/** Furnishes the first project of a world, and makes a stranger with one of their own. */
export async function openTwoPlaces(
  world: WorldProject,
): Promise<{ readonly home: Place; readonly abroad: Place }> {
  const db = world.needs.control
  const now = new Date()
  const stranger = createUser(db, { email: `x@${SECRET}.example`, first_name: SECRET }, now)
  const organization = createOrganization(db, { name: SECRET, user_id: stranger.id }, now)
  const project = createProject(db, { organization_id: organization.id, name: SECRET }, now)
  const everything = { scopes: ['*'], organization_id: null, project_id: null }
  const wanted = { ...everything, user_id: stranger.id, label: SECRET }
  const { first } = world
  const home = placeOf(world, { ...first, key: first.personal_api_key })
  const abroad = placeOf(world, {
    project_id: project.id,
    organization_id: organization.id,
    api_token: project.api_token,
    key: createApiKey(db, wanted, now).value,
  })
  await furnish(world, home, 'at-home')
  await furnish(world, abroad, SECRET)
  return { home, abroad }
}

/** Everything that a place shows to who lives there, as text. */
export function readAll(place: Place): Promise<readonly string[]> {
  const root = `/api/projects/${place.project_id}/`
  const paths = [
    ...[...Object.keys(FIRST), 'persons', 'events'].map((family) => `${root}${family}/`),
    ...['members', 'invites', 'activity_log'].map(
      (family) => `/api/organizations/${place.organization_id}/${family}/`,
    ),
    root,
    '/api/users/@me/',
  ]
  return Promise.all(
    paths.map(async (path) => {
      const answer = await place.send('GET', path)
      // A token that is made for each answer, with a time in it.
      const text = (await answer.text()).replaceAll(/"live_events_token":"[^"]*"/g, '')
      return `${path} ${answer.status} ${text}`
    }),
  )
}

/** A place whose requests go through `world`. */
export function placeOf(
  world: Pick<WorldProject, 'send'>,
  place: Omit<Place, 'ids' | 'send'>,
): Place {
  return {
    ...place,
    ids: new Map(),
    send: (method, path, body = null) =>
      world.send(path, {
        method,
        headers: { Authorization: `Bearer ${place.key}` },
        ...(body === null ? {} : { body }),
      }),
  }
}

/** Fills a place: one thing of every family, persons and events, people and invites. */
export async function furnish(
  world: Pick<WorldProject, 'send'>,
  place: Place,
  name: string,
): Promise<void> {
  const root = `/api/projects/${place.project_id}/`
  const organization = `/api/organizations/${place.organization_id}/`
  const make = async (path: string, body: object) => {
    const family = path.split('/').at(-2) ?? ''
    const answer = await place.send('POST', path, JSON.stringify(body).replaceAll(SECRET, name))
    const text = await answer.text()
    if (answer.status !== 201) throw new Error(`${path} ${answer.status} ${text}`)
    place.ids.set(family, [String((JSON.parse(text) as { id: unknown }).id)])
  }
  for (const [family, body] of Object.entries(FIRST)) await make(`${root}${family}/`, body)
  await make(`${organization}invites/`, {})
  await make('/api/personal_api_keys/', { label: name, scopes: ['*'] })
  const api_key = place.api_token
  const batch = ['ann', 'ben'].flatMap((distinct_id) => eventsOf(distinct_id, name))
  const sent = await world.send('/batch/', {
    method: 'POST',
    body: JSON.stringify({ api_key, batch }),
  })
  if (sent.status !== 200) throw new Error(`not stored: ${await sent.text()}`)
  for (const family of ['persons', 'events', 'event_definitions', 'property_definitions']) {
    place.ids.set(family, await idsIn(place, `${root}${family}/`))
  }
  place.ids.set('members', await idsIn(place, `${organization}members/`))
}

function eventsOf(distinct_id: string, name: string): readonly object[] {
  const email = `${distinct_id}@${name}.example`
  return [
    { event: 'open', distinct_id, properties: { plan: name, n: 1, $set: { plan: name, email } } },
    {
      event: '$groupidentify',
      distinct_id,
      properties: { $group_type: name, $group_key: name, $group_set: { a: name } },
    },
  ]
}

async function idsIn(place: Place, path: string): Promise<readonly string[]> {
  const text = await (await place.send('GET', path)).text()
  const page = JSON.parse(text) as { results: readonly { id: string; user?: { uuid: string } }[] }
  if (page.results.length === 0) throw new Error(`nothing at ${path}`)
  return page.results.map(({ id, user }) => user?.uuid ?? id)
}
