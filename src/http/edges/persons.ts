/** Answers with the stored persons, and groups, whose flags an edge was asked for. */
import { MIB } from '../../bytes.ts'
import { IDS_MAX } from '../../edge/persons.ts'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Caller } from '../../projects/rights/access.ts'
import { Slices } from '../../threads/slices.ts'
import { JSON_HEADERS } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { JSON_BYTES_MAX } from '../bodies/body.ts'
import type { ClientSocket, Endpoint } from '../endpoint.ts'
import { edgeEndpoint, listEdgeProjects } from './edge-caller.ts'

/**
 * An answer's characters: 500 of the widest persons would have 300 MB. An edge that is refused asks for fewer at once.
 */
const ANSWER_LENGTH_MAX = 8 * MIB

/** The endpoint of `POST /_edge/v1/persons`; see `edge/README.md`, 1. */
export function personsEndpoint(app: AppContext): Endpoint {
  const path = '/_edge/v1/persons'
  return edgeEndpoint(app, { method: 'POST', path }, (caller, request, _params, socket) =>
    answerPersons(app, caller, request, socket),
  )
}

async function answerPersons(
  app: AppContext,
  caller: Caller,
  request: Request,
  socket: ClientSocket,
): Promise<Response> {
  const served = new Set(listEdgeProjects(app, caller).map(({ id }) => id))
  const { ids, groups: keys } = readNames(await app.bodies.read(request, JSON_BYTES_MAX, socket))
  for (const [project_id] of [...ids, ...keys]) {
    if (served.has(project_id)) continue
    throw new Refusal('permission_denied', `The key of this edge has no project ${project_id}.`)
  }
  const print = printer()
  const persons: string[] = []
  for (const [project_id, distinct_id] of ids)
    persons.push(await print(() => findPerson(app, project_id, distinct_id)))
  const groups: string[] = []
  for (const [project_id, group_type_index, group_key] of keys)
    groups.push(await print(() => app.persons.findGroup(project_id, group_type_index, group_key)))
  const text = `{"persons":[${persons.join(',')}],"groups":[${groups.join(',')}]}`
  return new Response(text, { headers: JSON_HEADERS })
}

/** Returns a function that prints what was found, in slices; it refuses what is too long together. */
function printer(): (find: () => object | null) => Promise<string> {
  const slices = new Slices()
  let length = 0
  return async (find) => {
    const text = JSON.stringify(find())
    length += text.length
    if (length > ANSWER_LENGTH_MAX) {
      const detail = 'These persons and groups are too large for one answer. Ask for fewer at once.'
      throw new Refusal('request_too_large', detail)
    }
    if (slices.isOver()) await slices.end()
    return text
  }
}

function findPerson(app: AppContext, project_id: number, distinct_id: string) {
  const person = app.persons.findPerson(project_id, distinct_id)
  return (
    person && {
      id: person.id.toHex(),
      properties: person.properties,
      cohorts: app.persons.listCohortsOf(project_id, person.id),
      overrides: Object.fromEntries(app.persons.overridesOf(project_id, person.id)),
    }
  )
}

type PersonKey = readonly [project_id: number, distinct_id: string]
type GroupKey = readonly [project_id: number, group_type_index: number, group_key: string]

function readNames(body: Uint8Array): {
  readonly ids: readonly PersonKey[]
  readonly groups: readonly GroupKey[]
} {
  const value = parse(body)
  const { ids, groups = [] } = isObject(value) ? value : {}
  if (!isListOf(ids, isPersonKey)) {
    const detail = `ids must be at most ${IDS_MAX} pairs of a project and a distinct id.`
    throw new Refusal('invalid_input', detail, { attr: 'ids' })
  }
  if (!isListOf(groups, isGroupKey)) {
    const detail = `groups must be at most ${IDS_MAX} triples of a project, a group type's index and a key.`
    throw new Refusal('invalid_input', detail, { attr: 'groups' })
  }
  return { ids, groups }
}

function isListOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.length <= IDS_MAX && value.every(isItem)
}

function isPersonKey(value: unknown): value is PersonKey {
  if (!Array.isArray(value) || value.length !== 2) return false
  return Number.isSafeInteger(value[0]) && typeof value[1] === 'string'
}

function isGroupKey(value: unknown): value is GroupKey {
  if (!Array.isArray(value) || value.length !== 3) return false
  const has_numbers = Number.isSafeInteger(value[0]) && Number.isSafeInteger(value[1])
  return has_numbers && typeof value[2] === 'string'
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new Refusal('parse_error', 'The body is not JSON.')
  }
}
