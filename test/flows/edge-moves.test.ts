/** An edge of two projects, one of which moves to another home while its events wait on the edge. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leaveMoved } from '../../src/projects/settings/moved-project.ts'
import { openControl } from '../../src/storage/control/control-db.ts'
import { askUntil } from './clients/patience.ts'
import {
  API_TOKEN,
  freePort,
  PERSONAL_API_KEY,
  type Server,
  serverLog,
  startServer,
} from './processes/server.ts'

setDefaultTimeout(180_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-edge-moves-'))
const place = (name: string): string => join(folder, name)
const servers = new Set<Server>()
afterAll(async () => {
  for (const server of servers) await server.kill()
  rmSync(folder, { recursive: true, force: true })
})

async function start(...[options]: Parameters<typeof startServer>): Promise<Server> {
  const server = await startServer(options)
  servers.add(server)
  return server
}

const startEdge = (home_url: string): Promise<Server> =>
  start({
    data_dir: place('edge'),
    env: {
      TIDEMARK_FORWARD_TO: home_url,
      TIDEMARK_FORWARD_KEY: PERSONAL_API_KEY,
      TIDEMARK_EDGE_REFRESH_S: '1',
    },
  })

async function send(edge: Server, api_key: string, events: readonly string[]): Promise<void> {
  const batch = events.map((event) => ({ event, distinct_id: 'ann' }))
  const body = JSON.stringify({ api_key, batch })
  const answer = await fetch(`${edge.url}/batch/`, { method: 'POST', body })
  expect(answer.status).toBe(200)
}

async function backlogOf(edge: Server): Promise<number> {
  const { edge: figures } = (await (await fetch(`${edge.url}/_health`)).json()) as {
    edge: { backlog_events: number }
  }
  return figures.backlog_events
}

/** Waits until an edge has so many events that no home has confirmed. */
const waitForBacklog = (edge: Server, events: number) =>
  askUntil(
    () => backlogOf(edge),
    (waiting) => waiting === events,
  )

/** The names of a project's events in the order of their receipt. */
async function eventsOf(home: Server, project_id: number): Promise<readonly unknown[]> {
  const answer = await fetch(`${home.url}/api/projects/${project_id}/query/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${PERSONAL_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      query: { kind: 'HogQLQuery', query: 'select event from events order by created_at, event' },
    }),
  })
  return ((await answer.json()) as { results: readonly (readonly unknown[])[] }).results.flat()
}

test('events of a project that has moved wait on the edge, others pass, and the new home gets them', async () => {
  const port = freePort()
  const rome = await start({ data_dir: place('rome'), port })
  const made = await fetch(`${rome.url}/api/projects/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${PERSONAL_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Other' }),
  })
  const { id, api_token } = (await made.json()) as { id: number; api_token: string }
  const edge = await startEdge(rome.url)
  await send(edge, API_TOKEN, ['stays 1'])
  await send(edge, api_token, ['moves 1'])
  expect(await waitForBacklog(edge, 0)).toBe(0)

  await rome.kill()
  await send(edge, api_token, ['moves 2', 'moves 3'])
  await send(edge, API_TOKEN, ['stays 2'])
  await send(edge, api_token, ['moves 4'])
  await send(edge, API_TOKEN, ['stays 3'])
  cpSync(place('rome'), place('oslo'), { recursive: true })
  const control = openControl(place('rome'))
  leaveMoved(control.db, { project_id: id, to: 'oslo' }, new Date())
  control.close()
  const old_home = await start({ data_dir: place('rome'), port })
  expect(await waitForBacklog(edge, 3)).toBe(3)
  expect(await eventsOf(old_home, 1)).toEqual(['stays 1', 'stays 2', 'stays 3'])
  expect(serverLog(place('edge'))).toContain(
    `project ${id} has moved to another server: its events stay on this edge`,
  )
  // They stay through a restart too, although the home has stored later entries of that start.
  await edge.stop()
  const again = await startEdge(old_home.url)
  await askUntil(
    async () => (await (await fetch(`${again.url}/_health`)).json()) as { edge: { home: string } },
    ({ edge: { home } }) => home === 'ok',
  )
  expect(await backlogOf(again)).toBe(3)
  await again.stop()

  const oslo = await start({ data_dir: place('oslo') })
  const moved = await startEdge(oslo.url)
  expect(await waitForBacklog(moved, 0)).toBe(0)
  expect(await eventsOf(oslo, id)).toEqual(['moves 1', 'moves 2', 'moves 3', 'moves 4'])
})
