/** Walks over persons with large properties: a list reads a limited number of bytes at once, and walks end where nobody is left. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openWorld, type World } from '../../http/world.ts'

setDefaultTimeout(60_000)

const PERSONS = 8
const NUMBERS = 50_000
const LISTED_BYTES_MAX = 512 * 1024

let world: World
beforeAll(async () => {
  world = await openWorld()
  for (let at = 0; at < PERSONS; at += 1) {
    const $set = { email: `p${at}@x.example`, wide: Array.from({ length: NUMBERS }, (_, n) => n) }
    const batch = [
      { event: '$set', distinct_id: `p${at}`, properties: { $set } },
      {
        event: '$groupidentify',
        distinct_id: `p${at}`,
        properties: { $group_type: 'team', $group_key: `g${at}`, $group_set: $set },
      },
    ]
    const body = JSON.stringify({ api_key: world.first.api_token, batch })
    expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
  }
})
afterAll(() => world.close())

test('persons and groups are listed a few at a time where they are large, and each of them once', () => {
  const { persons } = world.needs
  const { project_id } = world.first
  const ids: string[] = []
  let after: Uint8Array | null = null
  for (let page = persons.listPersons(project_id, null, 500); page.length > 0; ) {
    expect(JSON.stringify(page.map(({ properties }) => properties)).length).toBeLessThan(
      LISTED_BYTES_MAX,
    )
    ids.push(...page.map(({ id }) => Buffer.from(id).toString('hex')))
    after = page.at(-1)?.id ?? null
    page = persons.listPersons(project_id, after, 500)
  }
  expect(new Set(ids).size).toBe(PERSONS)
  expect(ids.length).toBe(PERSONS)
  const groups = persons.listGroups({ project_id, group_type_index: 0 }, null, 500)
  expect([groups.length > 0, groups.length < PERSONS]).toEqual([true, true])
})

test('walks reach every one of them', async () => {
  const { project_id, personal_api_key } = world.first
  const send = async (path: string, body: object) => {
    const answer = await world.send(`/api/projects/${project_id}/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${personal_api_key}` },
      body: JSON.stringify(body),
    })
    return JSON.parse(await answer.text())
  }
  const properties = [{ key: 'email', type: 'person', value: '@x.example', operator: 'icontains' }]
  const reached = await send('feature_flags/user_blast_radius/', { condition: { properties } })
  expect(reached).toMatchObject({ users_affected: PERSONS, total_users: PERSONS })
  const group = {
    key: 'email',
    type: 'group',
    group_type_index: 0,
    value: '@x',
    operator: 'icontains',
  }
  const groups = { condition: { properties: [group] }, group_type_index: 0 }
  const reached_groups = await send('feature_flags/user_blast_radius/', groups)
  expect(reached_groups).toMatchObject({ users_affected: PERSONS, total_users: PERSONS })
  const { id } = await send('feature_flags/', { key: 'all', filters: { groups: [{ properties }] } })
  const { cohort } = await send(`feature_flags/${id}/create_static_cohort_for_flag/`, {})
  expect(cohort).toMatchObject({ count: PERSONS })
  const answer = await world.send(`/api/projects/${project_id}/cohorts/${cohort.id}/persons/`, {
    headers: { Authorization: `Bearer ${personal_api_key}` },
  })
  const { results } = (await answer.json()) as { readonly results: readonly unknown[] }
  expect(results.length).toBe(PERSONS)
})
