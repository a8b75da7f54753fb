/** A world in which rights can be missing: an owner, a plain member, another project, and one of everything that is to be kept. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { createApiKey } from '../../src/projects/keys/api-key.ts'
import { EVERYBODY, setAccessLevel } from '../../src/projects/rights/access-controls.ts'
import { OBJECTS, type Scope } from '../../src/projects/rights/scopes.ts'
import { createProject } from '../../src/projects/settings/project.ts'
import { MEMBER, memberships } from '../../src/projects/tables.ts'
import { startSession } from '../../src/projects/users/sessions.ts'
import { createUser } from '../../src/projects/users/user.ts'
import { openWorld } from './world.ts'

/** Stands in what is kept of a person, and in no request. */
export const SECRET = 'known-of-persons-only'

export type Answer = {
  readonly status: number
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

/** A right that is missing, and the key of a caller without it. */
export type Lack = { readonly lacks: string; readonly key: string }

export type RightsWorld = Awaited<ReturnType<typeof openRights>>

export async function openRights() {
  const world = await openWorld()
  const { control: db } = world.needs
  const now = new Date()
  const owner = world.first.personal_api_key
  const { organization_id } = world.first
  const sibling = createProject(db, { organization_id, name: 'sibling' }, now)
  const user = createUser(db, { email: 'member@example.com', first_name: 'Member' }, now)
  db.insert(memberships)
    .values({ organization_id, user_id: user.id, level: MEMBER, joined_at: now })
    .run()
  const keyOf = (user_id: number, scopes: readonly string[], project_id?: number) =>
    createApiKey(
      db,
      {
        user_id,
        label: 'test',
        scopes,
        organization_id: project_id === undefined ? null : organization_id,
        project_id: project_id ?? null,
      },
      now,
    ).value
  const member = keyOf(user.id, ['*'])
  const by = { user_id: user.id, user_agent: '', ip: '' }
  /** The member in a browser: a session's token in place of a key. */
  const member_session = `${SESSION}${startSession(db, by, now).token}`
  const limited = keyOf(1, ['*'], sibling.id)
  const keys = new Map<Scope, string>()

  /** A key of the owner with every scope but one: `x:write` leaves `x:read`, `x:read` leaves nothing of x. */
  const keyWithout = (scope: Scope): string => {
    const [object, action] = scope.split(':')
    const others = OBJECTS.filter((one) => one !== object).map((one) => `${one}:write`)
    const key =
      keys.get(scope) ?? keyOf(1, [...others, ...(action === 'write' ? [`${object}:read`] : [])])
    keys.set(scope, key)
    return key
  }

  const setLevel = (resource: string, access_level: 'none' | 'viewer' | null): void => {
    const everybody = { resource, user_id: EVERYBODY }
    for (const project_id of [world.first.project_id, sibling.id]) {
      setAccessLevel(db, { ...everybody, project_id }, access_level, now)
    }
  }

  const send = async (key: string, line: string, body?: unknown): Promise<Answer> => {
    const [method = '', path = ''] = line.split(' ')
    const address = path.startsWith('/') ? path : `/api/projects/${world.first.project_id}/${path}`
    const answer = await world.send(address, {
      method,
      headers: credentialOf(key),
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, text, json: jsonOf(text) }
  }

  const control = new Database(join(world.data_dir, 'control.db'), { readonly: true })
  const tables = control
    .query<{ name: string }, []>("select name from sqlite_master where type = 'table'")
    .all()
    .filter(
      ({ name }) => !['access_controls', 'personal_api_keys', 'sqlite_sequence'].includes(name),
    )
    .map(({ name }) => ({ name, select: control.prepare(`select * from "${name}"`) }))

  return {
    world,
    owner,
    member,
    member_session,
    limited,
    sibling,
    keyOf,
    keyWithout,
    setLevel,
    send,
    /** Calls as the member while a level is set. */
    atLevel: async <T>(resource: string, level: 'none' | 'viewer', work: () => Promise<T>) => {
      setLevel(resource, level)
      try {
        return await work()
      } finally {
        setLevel(resource, null)
      }
    },
    /** Sends as the owner what has to work, and answers it. */
    make: async (line: string, body?: unknown) => {
      const answer = await send(owner, line, body)
      if (answer.status >= 300) throw new Error(`${line}: ${answer.status} ${answer.text}`)
      return answer.json
    },
    /** Everything that is kept of projects, as text; what only notes that a key was used aside. */
    everything: (): string => {
      const rows = tables.map(({ name, select }) => [name, select.all()])
      return JSON.stringify(rows, (_key, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      )
    },
    close: async () => {
      control.close()
      await world.close()
    },
  }
}

const SESSION = 'session '

/** The headers of a key, or of a browser with a session. */
function credentialOf(key: string): Readonly<Record<string, string>> {
  if (!key.startsWith(SESSION)) return { Authorization: `Bearer ${key}` }
  const cookie = `__Host-tidemark_session=${key.slice(SESSION.length)}`
  return { Cookie: cookie, 'X-Tidemark': '1' }
}

function jsonOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
