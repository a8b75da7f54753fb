/** Lists as files: all of them, also where a JSON answer is a page, and never silently a part. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { openWorld, type World } from '../../world.ts'

setDefaultTimeout(60_000)

const NOW = new Date('2024-06-12T12:00:00Z')
const EVENTS = 260
/** The most rows of a JSON answer here. */
const ROWS_MAX = 200

let world: World
beforeAll(async () => {
  world = await openWorld({ now: () => NOW, query_limits: { rows_max: ROWS_MAX } })
  const batch = Array.from({ length: EVENTS }, (_, number) => ({
    event: number < 150 ? 'early' : 'late',
    distinct_id: `u${number}`,
    timestamp: new Date(NOW.getTime() - (EVENTS - number) * 60_000).toISOString(),
    properties: { number, $set: { number } },
  }))
  const body = JSON.stringify({ api_key: world.first.api_token, batch, historical_migration: true })
  expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
})
afterAll(() => world.close())

async function post(query: object, format = 'csv') {
  const answer = await world.send(`/api/environments/1/query/?format=${format}`, {
    method: 'POST',
    body: JSON.stringify({ query, refresh: 'force_blocking' }),
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
  })
  return { status: answer.status, text: await answer.text() }
}

const linesOf = async (query: object) => {
  const { status, text } = await post(query)
  expect([status, text.slice(0, 200)]).toEqual([200, expect.any(String)])
  return text.split('\r\n').slice(1, -1)
}

const events = {
  kind: 'EventsQuery',
  select: ['properties.number'],
  orderBy: ['timestamp ASC'],
  after: 'all',
}
const people = { kind: 'ActorsQuery', select: ['properties.number'], orderBy: ['id'] }
const numbers = Array.from({ length: EVENTS }, (_, number) => String(number))

describe('a list as a file', () => {
  test('has every row where nobody says how many, beyond those of a JSON answer', async () => {
    const page = JSON.parse((await post(events, 'json')).text)
    expect(page).toMatchObject({ hasMore: true, limit: 100 })
    expect(page.results).toHaveLength(100)
    expect(await linesOf(events)).toEqual(numbers)
    expect((await linesOf(people)).toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers)
  })

  test('has the part that is asked for', async () => {
    expect(await linesOf({ ...events, limit: 230, offset: 20 })).toEqual(numbers.slice(20, 250))
    expect(await linesOf({ ...events, limit: 3 })).toEqual(['0', '1', '2'])
    expect(await linesOf({ ...people, limit: 210 })).toHaveLength(210)
  })

  test('of whole objects has every row too, up to those of a JSON answer, and is refused beyond', async () => {
    const early = { ...events, select: ['*', 'properties.number'], event: 'early' }
    const lines = await linesOf(early)
    expect(lines).toHaveLength(150)
    expect(lines[149]).toContain('""early""')
    const all = await post({ ...early, event: null })
    expect([all.status, JSON.parse(all.text)]).toMatchObject([
      400,
      { code: 'query_too_large', attr: 'query__limit' },
    ])
    expect(await linesOf({ ...early, event: null, limit: 120 })).toHaveLength(120)
    expect(await linesOf({ ...people, select: ['person'], limit: 120 })).toHaveLength(120)
  })

  test('refuses what its JSON answer refuses', async () => {
    for (const wrong of [{ select: [] }, { select: ['('] }, { where: ['nothing_known = 1'] }]) {
      const [file, json] = [
        await post({ ...events, ...wrong }),
        await post({ ...events, ...wrong }, 'json'),
      ]
      expect(file).toMatchObject({ status: 400 })
      expect(JSON.parse(file.text)).toEqual(JSON.parse(json.text))
    }
  })
})
