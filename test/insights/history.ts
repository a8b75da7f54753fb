/** Histories of events, each in a project of its own, sent and asked about over the server's own front door. */
import { openWorld, type World } from '../http/world.ts'

/** One event as an SDK sends it. */
export type SentEvent = {
  readonly event: string
  readonly distinct_id: string
  readonly timestamp: string
  readonly uuid?: string
  readonly properties?: Readonly<Record<string, unknown>>
}

export type Asked = {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** A project with nothing in it but what is sent to it. */
export type History = {
  readonly project_id: number
  send(events: readonly SentEvent[]): Promise<void>
  /** Asks a query as the owner; always computed again. */
  ask(query: object): Promise<Asked>
  /** Calls another path of the project: `persons/values/?key=plan`. */
  call(method: string, path: string, body?: unknown): Promise<Response>
}

export type Histories = {
  readonly world: World
  open(settings?: Readonly<Record<string, unknown>>): Promise<History>
  close(): Promise<void>
}

/** Opens a server whose clock stands still at `now`. */
export async function openHistories(now: string): Promise<Histories> {
  const world = await openWorld({ now: () => new Date(now) })
  const owner = { Authorization: `Bearer ${world.first.personal_api_key}` }
  const call = (method: string, path: string, body?: unknown) =>
    world.send(path, {
      method,
      headers: owner,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  let opened = 0
  return {
    world,
    close: () => world.close(),
    open: async (settings = {}) => {
      opened += 1
      const organization = `/api/organizations/${world.first.organization_id}/projects/`
      const made = await call('POST', organization, { name: `history ${opened}`, ...settings })
      const project = JSON.parse(await made.text())
      if (made.status !== 201) throw new Error(`no project: ${JSON.stringify(project)}`)
      const root = `/api/environments/${project.id}/`
      return {
        project_id: Number(project.id),
        send: async (events) => {
          if (events.length === 0) return
          const sent = await world.send('/batch/', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ token: project.api_token, batch: events }),
          })
          if (sent.status !== 200) throw new Error(`not stored: ${await sent.text()}`)
          world.needs.persons.refresh()
        },
        ask: async (query) => {
          const answer = await call('POST', `${root}query/`, { query, refresh: 'force_blocking' })
          return { status: answer.status, body: JSON.parse(await answer.text()) }
        },
        call: (method, path, body) => call(method, root + path, body),
      }
    },
  }
}
