/** A text to search for is compared with thousands of names and descriptions: a long one would cost quadratic time. */
import { describe, expect, test } from 'bun:test'
import { ROUTES } from '../../src/app.ts'
import { joinWorld } from './shared-world.ts'

const world = await joinWorld()

const get = (path: string) =>
  world.send(path, { headers: { Authorization: `Bearer ${world.first.personal_api_key}` } })

/** Lists of a project that can be searched. */
const PATHS = ROUTES.flatMap(({ method, paths, query }) => {
  const [path = ''] = paths.map((one) => one.replace(':project_id', String(world.first.project_id)))
  const is_searched = query !== undefined && 'search' in Object(query['properties'])
  // Lists of actors are searched by the engine.
  const is_list = is_searched && !path.includes(':') && !/\/persons\/./.test(path)
  return method === 'GET' && is_list ? [path] : []
})

describe('a search', () => {
  test('is a parameter of the lists of a project', () => {
    expect(PATHS.length).toBeGreaterThan(15)
  })

  test.each(PATHS)('in %s is as long as a distinct id at most', async (path) => {
    // Thousands of words, each of which could be in each name.
    const words = Array.from({ length: 2000 }, (_, index) => index.toString(36)).join('+')
    for (const text of ['a'.repeat(401), words]) {
      const refused = await get(`${path}?group_type_index=0&search=${text}`)
      expect([refused.status, await refused.json()]).toMatchObject([400, { attr: 'search' }])
    }
  })
})
