/** The table of a front: which home has which project. A JSON file that a person or a script writes. */
import { readFileSync, statSync } from 'node:fs'
import { MIB } from '../../bytes.ts'
import { ConfigError } from '../../config.ts'
import { errorMessage } from '../../error-message.ts'
import { isObject } from '../../json.ts'

/** A server in front of the shared ClickHouse; `address` is a host with its port. */
type RoutedHome = { readonly name: string; readonly address: string }

type RoutedProject = { readonly id: number; readonly token: string; readonly home: string }

export type RouteTable = {
  readonly homes: readonly RoutedHome[]
  readonly projects: readonly RoutedProject[]
  /** The home of requests that name no project; null refuses them. */
  readonly default_home: string | null
}

const HOMES_MAX = 1000
const PROJECTS_MAX = 100_000
const FILE_BYTES_MAX = 32 * MIB
const ID_MAX = 4_294_967_295

const HOME_NAME = /^[a-z][a-z0-9_-]{0,63}$/

/** The prefix `phc_` distinguishes tokens from the server's own paths. */
const TOKEN = /^phc_[A-Za-z0-9_-]{1,200}$/

type JsonObject = Readonly<Record<string, unknown>>

/** Reads and checks the file. Throws a ConfigError that names the member. */
export function readRouteTable(path: string): RouteTable {
  return checkRouteTable(parseFile(path), path)
}

function parseFile(path: string): unknown {
  try {
    if (statSync(path).size <= FILE_BYTES_MAX) return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = errorMessage(error)
    throw new ConfigError(`${path} cannot be read as JSON: ${reason}`)
  }
  throw new ConfigError(`${path} is longer than ${FILE_BYTES_MAX} bytes`)
}

/** Checks a table; `subject` begins the messages. */
export function checkRouteTable(json: unknown, subject: string): RouteTable {
  const refuse = (member: string, reason: string): never => {
    throw new ConfigError(`${subject}: ${member} ${reason}`)
  }
  const table = isObject(json) ? json : refuse('the table', 'must be an object')
  requireMembers(table, ['homes', 'projects', 'default'], (name) => refuse(name, 'is not known'))
  const homes = checkHomes(table['homes'], refuse)
  const names = new Set(homes.map(({ name }) => name))
  const projects = checkProjects(table['projects'], names, refuse)
  const fallback = table['default'] ?? null
  if (fallback !== null && (typeof fallback !== 'string' || !names.has(fallback)))
    return refuse('default', 'must name one of the homes')
  return { homes, projects, default_home: fallback }
}

type Refuse = (member: string, reason: string) => never

function checkHomes(json: unknown, refuse: Refuse): readonly RoutedHome[] {
  const homes = isObject(json) ? Object.entries(json) : refuse('homes', 'must be an object')
  if (homes.length === 0 || homes.length > HOMES_MAX)
    return refuse('homes', `must have 1 to ${HOMES_MAX} members`)
  return homes.map(([name, url]) => {
    if (!HOME_NAME.test(name))
      return refuse(
        `homes.${name}`,
        'must be named by at most 64 small letters, digits, hyphens and underscores, a letter first',
      )
    return { name, address: addressOf(url) ?? refuse(`homes.${name}`, WRONG_ADDRESS) }
  })
}

const WRONG_ADDRESS = 'must be an address as http://10.0.0.1:8000, without a path'

/** The host and port of an address of http; null for anything else. */
function addressOf(text: unknown): string | null {
  const parts =
    typeof text === 'string'
      ? /^http:\/\/((?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?)\/?$/.exec(text)
      : null
  if (parts?.[1] === undefined || !URL.canParse(`http://${parts[1]}`)) return null
  return parts[2] === undefined ? `${parts[1]}:80` : parts[1]
}

function checkProjects(
  json: unknown,
  homes: ReadonlySet<string>,
  refuse: Refuse,
): readonly RoutedProject[] {
  const projects: readonly unknown[] = Array.isArray(json)
    ? json
    : refuse('projects', 'must be a list')
  if (projects.length > PROJECTS_MAX)
    return refuse('projects', `must have at most ${PROJECTS_MAX} items`)
  const seen = new Set<number | string>()
  return projects.map((item, index) => {
    const member = `projects[${index}]`
    const project = isObject(item) ? item : refuse(member, 'must be an object')
    requireMembers(project, ['id', 'token', 'home'], (name) =>
      refuse(`${member}.${name}`, 'is not known'),
    )
    const { id, token, home } = project
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 1 || id > ID_MAX)
      return refuse(`${member}.id`, 'must be the number of a project')
    if (typeof token !== 'string' || !TOKEN.test(token))
      return refuse(`${member}.token`, 'must be the token of a project, which begins with phc_')
    if (typeof home !== 'string' || !homes.has(home))
      return refuse(`${member}.home`, 'must name one of the homes')
    if (seen.has(id)) return refuse(`${member}.id`, `${id} is there twice`)
    if (seen.has(token)) return refuse(`${member}.token`, `${token} is there twice`)
    seen.add(id).add(token)
    return { id, token, home }
  })
}

function requireMembers(
  json: JsonObject,
  names: readonly string[],
  refuse: (name: string) => never,
): void {
  for (const name of Object.keys(json)) if (!names.includes(name)) refuse(name)
}
