/** Destinations when the server stops, and when they are told to send elsewhere meanwhile. */
import { expect, test } from 'bun:test'
import { Addresses } from '../../src/plugins/addresses.ts'
import { Destinations } from '../../src/plugins/destinations.ts'
import {
  changePluginConfig,
  createPluginConfig,
  getPluginConfig,
} from '../../src/plugins/plugin-config.ts'
import { type LogType, listLogEntries } from '../../src/plugins/plugin-log.ts'
import { createFirstThings } from '../../src/projects/bootstrap.ts'
import { openControl } from '../../src/storage/control/control-db.ts'
import { World } from '../query/world.ts'

const WEBHOOK = 6
const NOW = new Date('2026-03-01')
const LOCAL = new Addresses(['127.0.0.1'])
const WHOLE_LOG = { after: null, before: null, search: null, limit: 9, offset: 0 }

/** Answers as told; `asked` resolves with the first request. */
function receiver(answer: () => Promise<Response> | Response) {
  const asked = Promise.withResolvers<void>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch() {
      asked.resolve()
      return answer()
    },
  })
  const url = `http://127.0.0.1:${server.port}/`
  return { url, asked: asked.promise, stop: () => server.stop(true) }
}

/** A receiver of bodies, and the events of each. */
function reader(onPost = (): void => undefined) {
  const posts: string[][] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { events } = (await request.json()) as { events: { event: string }[] }
      posts.push(events.map(({ event }) => event))
      onPost()
      return new Response('')
    },
  })
  return { url: `http://127.0.0.1:${server.port}/`, posts, stop: () => server.stop(true) }
}

/** A webhook that is an event behind, and what serves it; a second try would come in years. */
function behind(world: World, url: string, retry_ms = 1e11) {
  const control = openControl(world.data_dir)
  const presets = { api_token: null, personal_api_key: null }
  const first = createFirstThings(control.db, presets, NOW)
  if (first === null) throw new Error('the folder was not empty')
  const { organization_id, project_id } = first
  const project = { id: project_id, organization_id }
  const actor = { user_id: 1, project, addresses: LOCAL }
  const wanted = { plugin_id: WEBHOOK, seq: 0, config: { url } }
  const config = createPluginConfig(control.db, actor, wanted, NOW)
  world.send({ project_id })
  const messages: string[] = []
  const destinations = new Destinations({
    // No hooks here: management/hooks.test.ts has them.
    matchAction: () => Promise.resolve(new Map()),
    data_dir: world.data_dir,
    control: control.db,
    addresses: LOCAL,
    log: { error: (_, message) => messages.push(message) },
    now: () => NOW,
    retry_ms,
  })
  const change = (changed: Readonly<Record<string, string | string[]>>) =>
    changePluginConfig(control.db, actor, config, { fields: { config: changed }, seq: 0, now: NOW })
  const lead = (to: string) => change({ url: to })
  const logged = (type: LogType) =>
    listLogEntries(control.db, { ...WHOLE_LOG, plugin_config_id: config.id, types: [type] }).total
  const choose = (events: string[]) => change({ events })
  const turn = (enabled: boolean) => {
    const before = getPluginConfig(control.db, project_id, String(config.id))
    const turned = { fields: { enabled }, seq: destinations.lastSeq(), now: NOW }
    changePluginConfig(control.db, actor, before, turned)
  }
  return { control, destinations, lead, choose, turn, logged, messages, project_id }
}

test('a receiver that does not answer does not keep the server from stopping', async () => {
  await using world = new World()
  const hook = receiver(() => new Promise<Response>(() => undefined))
  const { control, destinations, logged, messages } = behind(world, hook.url)
  destinations.start()
  await hook.asked
  await destinations.close()
  // A request that was given up by itself would stand in the log.
  expect(logged('WARN')).toBe(0)
  expect(messages).toEqual([])
  control.close()
  await hook.stop()
})

test('nor does one that is to be tried again much later', async () => {
  await using world = new World()
  const hook = receiver(() => new Response('', { status: 503 }))
  const { control, destinations, logged, messages } = behind(world, hook.url)
  destinations.start()
  while (logged('WARN') === 0) await Bun.sleep(5)
  await destinations.close()
  expect(messages).toEqual([])
  control.close()
  await hook.stop()
})

test('what is tried again goes to where it is to go by then', async () => {
  await using world = new World()
  const right = receiver(() => new Response(''))
  const wrong = receiver(() => {
    lead(right.url)
    return new Response('', { status: 503 })
  })
  const { control, destinations, lead } = behind(world, wrong.url, 1)
  destinations.start()
  await right.asked
  await destinations.close()
  control.close()
  await wrong.stop()
  await right.stop()
})

test('a body has a hundred events, and fewer where they are long', async () => {
  await using world = new World()
  const hook = reader()
  const { control, destinations, project_id } = behind(world, hook.url)
  const sized = (event: string, length: number) => ({
    project_id,
    event,
    properties: JSON.stringify({ text: 'x'.repeat(length) }),
  })
  world.send(...['a', 'b', 'c'].map((event) => sized(event, 500_000)), sized('d', 1_000_000))
  world.send(...Array.from({ length: 101 }, () => sized('e', 1)))
  destinations.start()
  while (hook.posts.flat().length < 106) await Bun.sleep(5)
  await destinations.close()
  expect(hook.posts.map((events) => [events.length, ...new Set(events)])).toEqual([
    [3, 'pageview', 'a', 'b'],
    [1, 'c'],
    [100, 'd', 'e'],
    [2, 'e'],
  ])
  control.close()
  await hook.stop()
})

test('its events are found among those of others, and are others at once where it is told so', async () => {
  await using world = new World()
  const hook = reader(() => {
    if (hook.posts.length === 1) choose(['late'])
  })
  const { control, destinations, choose, project_id } = behind(world, hook.url)
  const others = Array.from({ length: 6000 }, () => ({ project_id: project_id + 1 }))
  for (const event of ['early', 'late', 'early', 'late']) {
    world.send(...others)
    world.send({ project_id, event })
  }
  destinations.start()
  while (hook.posts.flat().length < 3) await Bun.sleep(5)
  await destinations.close()
  expect(hook.posts).toEqual([['pageview'], ['late'], ['late']])
  control.close()
  await hook.stop()
})

test('what comes while it is switched off is not sent, also where a post was under way all the time', async () => {
  await using world = new World()
  const hook = reader(() => {
    if (hook.posts.length > 1) return
    turn(false)
    world.send({ project_id, event: 'off' })
    turn(true)
    world.send({ project_id, event: 'on' })
  })
  const { control, destinations, turn, project_id } = behind(world, hook.url)
  destinations.start()
  while (hook.posts.length < 2) await Bun.sleep(5)
  await destinations.close()
  expect(hook.posts).toEqual([['pageview'], ['on']])
  control.close()
  await hook.stop()
})
