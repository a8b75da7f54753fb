/** Links into PostHog's interface lead to the same thing here. */
import { expect, test } from 'bun:test'
import { joinWorld } from '../shared-world.ts'

const world = await joinWorld()

test.each([
  ['/project/1/insights/new', '/p/1/explore'],
  ['/project/1/insights/new?insight=TRENDS', '/p/1/explore'],
  ['/project/1/insights/aBc12', '/p/1/insights/aBc12'],
  ['/project/1/insights/aBc12/edit', '/p/1/insights/aBc12'],
  ['/project/1/dashboard/7', '/p/1/boards/7'],
  ['/project/1/feature_flags/3', '/p/1/flags/3'],
  ['/project/1/person/a%2Fb%3Fc', '/p/1/persons/a%2Fb%3Fc'],
  ['/project/1/events', '/p/1/events'],
  ['/insights/aBc12', '/?to=insights%2FaBc12'],
  ['/dashboard/7', '/?to=boards%2F7'],
  ['/project/@current/insights/aBc12', '/'],
  ['/project/%2F%2Fevil.example/insights/new', '/'],
])('GET %s leads to %s', async (path, to) => {
  const answer = await world.send(path)
  expect([answer.status, answer.headers.get('location')]).toEqual([302, to])
})

test.each(['/project/1', '/project/1/nothing', '/insights', '/dashboard/7/x', '/feature_flags/3'])(
  'GET %s stays a JSON 404',
  async (path) => {
    const answer = await world.send(path)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/json'])
  },
)
