/** Live events: what a stream sends, where it resumes, and what slow and greedy readers get. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openRights, type RightsWorld } from '../rights-world.ts'
import { capture, manage } from '../targeting/flag-world.ts'
import type { World } from '../world.ts'

const LIVE = '/api/projects/1/events/live/'

let rights: RightsWorld
let world: World
beforeAll(async () => {
  rights = await openRights()
  world = rights.world
})
afterAll(() => rights.close())

type LiveBody = {
  readonly events: readonly {
    readonly event: string
    readonly distinct_id: string
    readonly properties: Readonly<Record<string, unknown>>
    readonly person: { readonly properties: Readonly<Record<string, unknown>> } | null
    readonly is_cut: boolean
  }[]
  readonly missed: number
  readonly last_id: string
}

const readOnce = async (search = ''): Promise<LiveBody> =>
  (await manage(world, 'GET', `${LIVE}${search}`)).body as unknown as LiveBody

/** Opens a stream, and returns a function that waits for its next message. */
async function follow(search = '', headers: Readonly<Record<string, string>> = {}, key?: string) {
  const stop = new AbortController()
  const answer = await world.send(`${LIVE}${search}`, {
    headers: {
      Authorization: `Bearer ${key ?? world.first.personal_api_key}`,
      Accept: 'text/event-stream',
      ...headers,
    },
    signal: stop.signal,
  })
  if (!answer.ok) return { answer, next: () => Promise.resolve(null), end: () => undefined }
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (): Promise<{ readonly id: string; readonly body: LiveBody } | null> => {
    for (;;) {
      const [, id = '', data = ''] = /^id: (\d+)\nevent: events\ndata: (.*)\n\n/m.exec(text) ?? []
      if (id !== '') {
        text = text.slice(text.indexOf('\n\n', text.indexOf('data: ')) + 2)
        return { id, body: JSON.parse(data) as LiveBody }
      }
      const chunk = await reader?.read()
      if (chunk === undefined || chunk.done) return null
      text += chunk.value
    }
  }
  return { answer, next, end: () => reader?.cancel() }
}

const names = (message: { readonly body: LiveBody } | null) =>
  message?.body.events.map(({ event }) => event)

describe('a stream', () => {
  test('begins with the newest events, and sends each one once it is committed', async () => {
    await capture(world, { event: 'before', distinct_id: 'a' })
    const live = await follow()
    expect(live.answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(names(await live.next())).toContain('before')
    await capture(world, {
      event: 'bought',
      distinct_id: 'a',
      properties: { price: 3, text: 'two\nlines', $set: { email: 'a@x.example' } },
    })
    const message = await live.next()
    expect(message?.body).toMatchObject({
      missed: 0,
      events: [
        {
          event: 'bought',
          distinct_id: 'a',
          is_cut: false,
          properties: { price: 3, text: 'two\nlines' },
          person: { properties: { email: 'a@x.example' } },
        },
      ],
    })
    await live.end()
  })

  test('resumes after the message that its client had last, without a gap or a repetition', async () => {
    const first = await follow()
    const { id } = (await first.next()) ?? { id: '' }
    await first.end()
    await capture(world, { event: 'one', distinct_id: 'a' }, { event: 'two', distinct_id: 'a' })
    const second = await follow('', { 'Last-Event-ID': id })
    expect(names(await second.next())).toEqual(['two', 'one'])
    await second.end()
    expect((await readOnce(`?after=${id}`)).events.map(({ event }) => event)).toEqual([
      'two',
      'one',
    ])
  })

  test('of one event has no others, and one of another project none of them', async () => {
    const { last_id } = await readOnce()
    const live = await follow('?event=wanted', { 'Last-Event-ID': last_id })
    await capture(
      world,
      { event: 'other', distinct_id: 'a' },
      { event: 'wanted', distinct_id: 'a' },
    )
    expect(names(await live.next())).toEqual(['wanted'])
    await live.end()
    const abroad = await manage(world, 'GET', `/api/projects/${rights.sibling.id}/events/live/`)
    expect(abroad.body['events']).toEqual([])
  })

  test('with conditions has the events that every list with them has', async () => {
    const { last_id } = await readOnce()
    const conditions = (filters: readonly object[]): string =>
      encodeURIComponent(JSON.stringify(filters))
    const pro = conditions([{ key: 'plan', value: ['pro'], operator: 'exact', type: 'event' }])
    const live = await follow(`?properties=${pro}`, { 'Last-Event-ID': last_id })
    await capture(
      world,
      { event: 'free', distinct_id: 'a', properties: { plan: 'free' } },
      // Long ago by its own clock, and new nevertheless.
      {
        event: 'late',
        distinct_id: 'b',
        timestamp: '2024-01-01T00:00:00Z',
        properties: { plan: 'pro', $set: { email: 'b@x.example' } },
      },
      { event: 'pro', distinct_id: 'a', properties: { plan: 'pro' } },
    )
    const message = await live.next()
    expect([names(message), message?.body.missed]).toEqual([['pro', 'late'], 0])
    await capture(
      world,
      { event: 'free again', distinct_id: 'a', properties: { plan: 'free' } },
      { event: 'pro again', distinct_id: 'a', properties: { plan: 'pro' } },
    )
    expect(names(await live.next())).toEqual(['pro again'])
    await live.end()
    const after = `?after=${last_id}`
    const shown = async (search: string) =>
      (await readOnce(`${after}${search}`)).events.map(({ event }) => event)
    const person = conditions([
      { key: 'email', value: 'b@x', operator: 'icontains', type: 'person' },
    ])
    expect(await shown(`&properties=${person}`)).toEqual(['late'])
    expect(await shown(`&properties=${pro}&event=pro`)).toEqual(['pro'])
    expect(await shown('&distinct_id=b')).toEqual(['late'])
    const { body } = await manage(world, 'GET', '/api/projects/1/persons/?distinct_id=b')
    const [{ uuid }] = body['results'] as [{ readonly uuid: string }]
    expect(await shown(`&person_id=${uuid}`)).toEqual(['late'])
  })

  test('with conditions says about how many of a flood it has not', async () => {
    const { last_id } = await readOnce()
    const flood = Array.from({ length: 1000 }, (_, index) => ({
      event: 'flood',
      distinct_id: 'a',
      properties: { side: index % 2 === 0 ? 'even' : 'odd' },
    }))
    await capture(world, ...flood)
    const even = [{ key: 'side', value: 'even', operator: 'exact', type: 'event' }]
    const search = `?after=${last_id}&properties=${encodeURIComponent(JSON.stringify(even))}`
    const { events, missed } = await readOnce(search)
    expect([events.length, missed]).toEqual([50, 450])
  })

  test('with conditions that are none is refused before it begins', async () => {
    const search = async (conditions: unknown) => {
      const text = typeof conditions === 'string' ? conditions : JSON.stringify(conditions)
      const { answer } = await follow(`?properties=${encodeURIComponent(text)}`)
      const { attr } = (await answer.json()) as { readonly attr: string }
      return [answer.status, attr]
    }
    expect(await search('[')).toEqual([400, 'properties'])
    expect(await search([{ key: 'a', value: 1, type: 'no such type' }])).toEqual([
      400,
      'properties',
    ])
    expect(await search([{ key: "sleep('", type: 'hogql' }])).toEqual([400, 'query'])
    const wrong = await follow('?person_id=7')
    expect(wrong.answer.status).toBe(400)
  })

  test('shows the newest of a flood, and says about how many it has not', async () => {
    const { last_id } = await readOnce()
    const flood = Array.from({ length: 600 }, (_, index) => ({
      event: `e${index}`,
      distinct_id: 'a',
    }))
    await capture(world, ...flood)
    const body = await readOnce(`?after=${last_id}`)
    expect([body.events.length, body.events[0]?.event, body.missed]).toEqual([50, 'e599', 550])
    const named = await readOnce(`?after=${last_id}&event=e3`)
    expect([named.events.length, named.missed]).toEqual([1, 0])
  })

  test('leaves out properties that are long', async () => {
    const { last_id } = await readOnce()
    await capture(world, {
      event: 'long',
      distinct_id: 'a',
      properties: { text: 'x'.repeat(100_000) },
    })
    const { events } = await readOnce(`?after=${last_id}`)
    expect(events).toEqual([
      expect.objectContaining({ event: 'long', is_cut: true, properties: {} }),
    ])
  })

  test('shows no persons to members without a right to read them', async () => {
    const { send, member, atLevel } = rights
    await capture(world, {
      event: 'seen',
      distinct_id: 'p',
      properties: { $set: { email: 'p@secret.example' } },
    })
    const line = 'GET events/live/?event=seen'
    const shown = (text: string): readonly unknown[] =>
      (JSON.parse(text) as LiveBody).events.map(({ person }) => person)
    expect(shown((await send(member, line)).text)).toEqual([
      { properties: expect.objectContaining({ email: 'p@secret.example' }) },
    ])
    const hidden = await atLevel('person', 'none', () => send(member, line))
    expect(shown(hidden.text)).toEqual([null])
  })

  test('is refused beyond eight of one caller, until one is closed', async () => {
    const open = await Promise.all(Array.from({ length: 8 }, () => follow()))
    const refused = await follow()
    expect([refused.answer.status, refused.answer.headers.get('retry-after')]).toEqual([429, '10'])
    await open[0]?.end()
    let again = await follow()
    // The server learns of the end a moment later.
    while (again.answer.status === 429) {
      await Bun.sleep(20)
      again = await follow()
    }
    expect(again.answer.status).toBe(200)
    for (const { end } of [...open.slice(1), again]) await end()
  })

  test('takes no odd position', async () => {
    for (const after of ['x', '-1', '1e3', '9'.repeat(30)]) {
      const answer = await manage(world, 'GET', `${LIVE}?after=${after}`)
      expect([answer.status, answer.body['attr']]).toEqual([400, 'after'])
    }
    expect((await readOnce('?after=999999999999999')).events.length).toBe(50)
  })
})
