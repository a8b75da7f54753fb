/** Who came together with a group, and with which groups a person came. */
import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createProject } from '../../../src/projects/settings/project.ts'
import { joinWorld } from '../shared-world.ts'
import { capture, manage } from '../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

setDefaultTimeout(60_000)

const ROOT = `/api/projects/${project_id}/`

beforeAll(async () => {
  const group = (type: string, key: string) => ({
    event: '$groupidentify',
    distinct_id: `${type}_${key}`,
    properties: { $group_type: type, $group_key: key, $group_set: { name: key.toUpperCase() } },
  })
  const came = (distinct_id: string, $groups: object, rest: object = {}) => ({
    event: 'came',
    distinct_id,
    properties: { $groups, $set: { email: `${distinct_id}@a.example` } },
    ...rest,
  })
  const long_ago = { timestamp: new Date(Date.now() - 200 * 86_400_000) }
  await capture(
    world,
    group('company', 'acme'),
    group('company', 'bold'),
    group('team', 'red'),
    group('team', 'blue'),
    came('ann', { company: 'acme', team: 'red' }),
    came('bob', { company: 'acme' }),
    came('cat', { company: 'bold', team: 'blue' }),
    came('cat', { company: 'acme', team: 'blue' }, long_ago),
  )
})

type Shown = { readonly type: string; readonly id: string; readonly name?: string }

async function related(search: string, root = ROOT): Promise<readonly Shown[]> {
  const { status, body } = await manage(world, 'GET', `${root}groups/related/?${search}`)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body as unknown as Shown[]
}
const shown = async (search: string) =>
  (await related(search)).map(({ type, name, id }) => `${type} ${name ?? id}`).toSorted()

test('persons and groups of other types that came with a group are told', async () => {
  expect(await shown('group_type_index=0&id=acme')).toEqual([
    'group red',
    'person ann@a.example',
    'person bob@a.example',
  ])
  expect(await shown('group_type_index=1&id=blue')).toEqual(['group bold', 'person cat@a.example'])
  expect(await shown('group_type_index=1&id=nobody')).toEqual([])
  const [, , team] = await related('group_type_index=0&id=acme')
  expect(team).toEqual({
    type: 'group',
    id: 'red',
    group_type_index: 1,
    group_key: 'red',
    created_at: expect.stringMatching(/^\d{4}-/),
    properties: { name: 'RED' },
  } as Shown)
})

test('groups that a person came with are told', async () => {
  const persons = await related('group_type_index=0&id=bold')
  expect(await shown(`id=${String(persons[0]?.id).toUpperCase()}`)).toEqual([
    'group blue',
    'group bold',
  ])
})

test.each([
  ['', 'id'],
  ['id=acme', 'id'],
  ['id=acme&group_type_index=7', 'group_type_index'],
])('?%s is refused', async (search, attr) => {
  const { status, body } = await manage(world, 'GET', `${ROOT}groups/related/?${search}`)
  expect([status, body['attr']]).toEqual([400, attr])
})

test('nobody of another project is told of', async () => {
  const { organization_id } = world.first
  const other = createProject(world.needs.control, { organization_id, name: 'other' }, new Date())
  const root = `/api/projects/${other.id}/`
  expect(await related('id=acme&group_type_index=0', root)).toEqual([])
})
