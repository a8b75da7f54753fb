/** Numbers beyond what a database keeps, in the place of every number that any route's body may have. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { TSchema } from 'elysia'
import { ROUTES } from '../../../src/app.ts'
import { openWorld, type World } from '../world.ts'

const HUGE = [1e300, -1e300, 2 ** 63, 1.5]

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

/** The least that a schema takes, as far as its types say. */
function leastOf(schema: TSchema): unknown {
  if (schema['const'] !== undefined) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  if (Array.isArray(schema['anyOf'])) return leastOf(schema['anyOf'][0])
  if (schema['type'] === 'object') {
    const properties: Readonly<Record<string, TSchema>> = schema['properties'] ?? {}
    const required: readonly string[] = schema['required'] ?? []
    const entries = Object.entries(properties).filter(([name]) => required.includes(name))
    return Object.fromEntries(entries.map(([name, member]) => [name, leastOf(member)]))
  }
  if (schema['type'] === 'array') return []
  if (schema['type'] === 'number') return 1
  return schema['type'] === 'boolean' ? true : 'a'
}

const isNumber = (schema: TSchema): boolean =>
  schema['type'] === 'number' || (Array.isArray(schema['anyOf']) && schema['anyOf'].some(isNumber))

/** Every number right below a route's body. */
const NUMBERS = ROUTES.flatMap(({ method, paths, body }) => {
  const properties: Readonly<Record<string, TSchema>> = body?.schema['properties'] ?? {}
  return Object.entries(properties)
    .filter(([, schema]) => isNumber(schema))
    .map(([name]) => ({ method, path: paths.at(-1) ?? '', name, body }))
})

test('there are such numbers', () => {
  expect(NUMBERS.length).toBeGreaterThan(20)
})

test.each(NUMBERS)(
  '$method $path with a huge $name is answered in words',
  async ({ method, path, name, body }) => {
    const target = path
      .replace(':organization_id', world.first.organization_id)
      .replaceAll(/:\w+/g, '1')
    for (const huge of HUGE) {
      const least = body === null ? {} : leastOf(body.schema)
      const sent = Object.assign({}, least, { [name]: huge })
      const answer = await world.send(target, {
        method,
        headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
        body: JSON.stringify(sent),
      })
      expect([huge, answer.status < 500]).toEqual([huge, true])
      await answer.text()
    }
  },
)
