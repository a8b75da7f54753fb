/** Person analytics at the front door: what is empty as documented, what is answered, and what is refused. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createApiKey } from '../../../src/projects/keys/api-key.ts'
import { getOrganizationOwner } from '../../../src/projects/organization.ts'
import { joinWorld } from '../shared-world.ts'
import { capture } from '../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

beforeAll(async () => {
  const people: readonly object[] = [
    { plan: 'pro', seats: 3, tags: ['a', 'b'], trial: true },
    { plan: 'pro', seats: 3, tags: ['b'], trial: false },
    { plan: 'Free', seats: null, tags: [], quoted: 'say "50%"' },
    { plan: '=1+1', seats: 12.5, quoted: '50 euros' },
    { plan: '-3', 'a.b': 'dotted' },
  ]
  await capture(
    world,
    ...people.map(($set, index) => ({
      event: 'seen',
      distinct_id: `p${index}`,
      properties: { $set },
    })),
  )
})

async function ask(
  line: string,
  { body, key = world.first.personal_api_key }: { body?: unknown; key?: string } = {},
) {
  const [method = '', path = ''] = line.split(' ')
  const answer = await world.send(path, {
    method,
    headers: { Authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    text: await answer.text(),
  }
}

const ROOTS = [`/api/environments/${project_id}/persons/`, `/api/projects/${project_id}/persons/`]
const NAMES = ['funnel/correlation/', 'lifecycle/', 'stickiness/', 'values/']
const PLACES = ROOTS.flatMap((root) => NAMES.map((name) => root + name))

describe('person analytics', () => {
  test.each(PLACES)('%s without more than a format answers 200 and no body', async (path) => {
    for (const search of ['', '?format=csv', '?format=json']) {
      expect(await ask(`GET ${path}${search}`)).toEqual({ status: 200, type: null, text: '' })
    }
    expect((await ask(`GET ${path.slice(0, -1)}`)).status).toBe(200)
  })

  test.each(PLACES)('%s refuses another format, naming the parameter', async (path) => {
    for (const format of ['xml', 'CSV', '']) {
      const { status, text } = await ask(`GET ${path}?format=${format}`)
      expect([status, JSON.parse(text)]).toEqual([
        400,
        {
          type: 'validation_error',
          code: 'invalid_input',
          detail: `"${format}" is not a valid choice.`,
          attr: 'format',
        },
      ])
    }
  })

  test('POST funnel/correlation/ takes properties and answers 200 and no body', async () => {
    for (const root of ROOTS) {
      for (const body of [{}, { properties: [] }, { properties: 'p' }, { properties: {} }]) {
        const answer = await ask(`POST ${root}funnel/correlation/?format=json`, { body })
        expect(answer).toEqual({ status: 200, type: null, text: '' })
      }
    }
    const refused = await ask(`POST ${ROOTS[0]}funnel/correlation/?format=xml`, { body: {} })
    expect(refused.status).toBe(400)
    expect((await ask(`POST ${ROOTS[0]}funnel/correlation/`, { body: [] })).status).toBe(400)
  })

  test('needs a key that may read persons', async () => {
    const { control } = world.needs
    const user_id = getOrganizationOwner(control, world.first.organization_id)
    const reach = { user_id, organization_id: null, project_id: null }
    const keyOf = (scope: 'person:read' | 'query:read') =>
      createApiKey(control, { ...reach, label: scope, scopes: [scope] }, new Date()).value
    for (const path of PLACES) {
      expect((await ask(`GET ${path}`, { key: 'phx_unknown' })).status).toBe(401)
      expect((await ask(`GET ${path}`, { key: keyOf('query:read') })).status).toBe(403)
      expect((await ask(`GET ${path}`, { key: keyOf('person:read') })).status).toBe(200)
      expect((await ask(`GET ${path.replace(`/${project_id}/`, '/777/')}`)).status).toBe(404)
    }
  })
})

describe('values of a property', () => {
  const values = async (search: string) => {
    const { status, text } = await ask(`GET ${ROOTS[0]}values/?${search}`)
    expect(status).toBe(200)
    return JSON.parse(text)
  }

  test('come with how many persons have them, the most frequent first', async () => {
    expect(await values('key=plan')).toEqual([
      { name: 'pro', count: 2 },
      { name: '-3', count: 1 },
      { name: '=1+1', count: 1 },
      { name: 'Free', count: 1 },
    ])
  })

  test('are of the type they were stored with; null is none', async () => {
    expect(await values('key=seats')).toEqual([
      { name: 3, count: 2 },
      { name: 12.5, count: 1 },
    ])
    expect(await values('key=trial')).toEqual([
      { name: false, count: 1 },
      { name: true, count: 1 },
    ])
  })

  test('of lists are their elements', async () => {
    expect(await values('key=tags')).toEqual([
      { name: 'b', count: 2 },
      { name: 'a', count: 1 },
    ])
  })

  test('contain what is asked for in any case, and no sign of it is a wildcard', async () => {
    expect(await values('key=plan&value=FRE')).toEqual([{ name: 'Free', count: 1 }])
    expect(await values('key=quoted&value=50%25')).toEqual([{ name: 'say "50%"', count: 1 }])
    expect(await values('key=quoted&value=%22')).toEqual([{ name: 'say "50%"', count: 1 }])
    expect(await values('key=quoted&value=_')).toEqual([])
    expect(await values('key=plan&value=nope')).toEqual([])
  })

  test('of unknown, absent and odd keys are none', async () => {
    for (const search of ['key=never', 'key=', 'value=x', "key=x'%20OR%201=1"]) {
      expect(await values(search)).toEqual([])
    }
    expect(await values('key=a.b')).toEqual([{ name: 'dotted', count: 1 }])
  })

  test('are at most twenty', async () => {
    await capture(
      world,
      ...Array.from({ length: 30 }, (_, index) => ({
        event: 'seen',
        distinct_id: `many${index}`,
        properties: { $set: { number: index } },
      })),
    )
    expect(await values('key=number')).toHaveLength(20)
  })

  test('as CSV have no cell that a spreadsheet would compute', async () => {
    expect(await ask(`GET ${ROOTS[1]}values/?key=plan&format=csv`)).toEqual({
      status: 200,
      type: 'text/csv; charset=utf-8',
      text: "name,count\r\npro,2\r\n-3,1\r\n'=1+1,1\r\nFree,1\r\n",
    })
    const none = await ask(`GET ${ROOTS[1]}values/?key=never&format=csv`)
    expect(none.text).toBe('name,count\r\n')
  })
})
