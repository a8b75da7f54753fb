/** Answers with the stored persons whose flags an edge was asked for. */

import { IDS_MAX } from '../../edge/persons.ts'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Caller } from '../../projects/rights/access.ts'
import { Slices } from '../../threads/slices.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { JSON_BYTES_MAX } from '../bodies/body.ts'
import type { ClientSocket, Endpoint } from '../endpoint.ts'
import { edgeEndpoint, listEdgeProjects } from './edge-caller.ts'

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
  const ids = readIds(await app.bodies.read(request, JSON_BYTES_MAX, socket))
  const persons: unknown[] = []
  const slices = new Slices()
  for (const [project_id, distinct_id] of ids) {
    if (!served.has(project_id)) {
      throw new Refusal('permission_denied', `The key of this edge has no project ${project_id}.`)
    }
    const person = app.persons.findPerson(project_id, distinct_id)
    persons.push(
      person && {
        id: person.id.toHex(),
        properties: person.properties,
        cohorts: app.persons.listCohortsOf(project_id, person.id),
      },
    )
    if (slices.isOver()) await slices.end()
  }
  return answerJson({ persons })
}

type PersonKey = readonly [project_id: number, distinct_id: string]

function readIds(body: Uint8Array): readonly PersonKey[] {
  const value = parse(body)
  const ids = isObject(value) ? value['ids'] : null
  if (Array.isArray(ids) && ids.length <= IDS_MAX && ids.every(isPersonKey)) return ids
  const detail = `ids must be at most ${IDS_MAX} pairs of a project and a distinct id.`
  throw new Refusal('invalid_input', detail, { attr: 'ids' })
}

function isPersonKey(value: unknown): value is PersonKey {
  if (!Array.isArray(value) || value.length !== 2) return false
  return Number.isSafeInteger(value[0]) && typeof value[1] === 'string'
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new Refusal('parse_error', 'The body is not JSON.')
  }
}
