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
    const again = await follow()
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
