/** Finds the stored events that match an action, by a query, with the persons of those events. */
import type { ControlDB } from '../storage/control/control-db.ts'
import { mapInSlices } from '../threads/sliced-json.ts'
import { FIRST_INSTANT_US } from '../time.ts'
import { findAction } from './action.ts'
import type { QueryEvents } from './cohorts/behavioral-cohort.ts'

/** An event that may be the action. */
type MaybeMatch = { readonly uuid: string; readonly event: string; readonly timestamp_ms: number }

/** The person of an event that is the action. */
type MatchedPerson = { readonly uuid: string; readonly properties: unknown }

/** More than the difference between milliseconds here and microseconds in a query. */
const MARGIN_MS = 1000

/** A query reads no earlier time. */
const FIRST_MS = Number(FIRST_INSTANT_US / 1000n)

/** One literal list of ids; the condition on time narrows the reading to the files and rows around the events. */
const SELECT_MATCHES = (action_id: number): string => `select uuid, person_id, person.properties
from events
where timestamp >= toDateTime({from}) and timestamp <= toDateTime({to})
  and uuid in {uuids}
  and matchesAction(${action_id})`

/**
 * Returns a function that finds which of at most 1000 events match an action, by their ids. A query decides, so that
 * hooks and insights agree; no query runs where no event has a name of the action. A deleted action matches nothing.
 */
export function actionMatcher(control: ControlDB, queryEvents: QueryEvents) {
  return async (
    project_id: number,
    action_id: number,
    events: readonly MaybeMatch[],
  ): Promise<ReadonlyMap<string, MatchedPerson>> => {
    const action = findAction(control, project_id, action_id)
    if (action === null || action.deleted) return new Map()
    const names = new Set(action.steps.map(({ event }) => event))
    const candidates = names.has(null) ? events : events.filter(({ event }) => names.has(event))
    if (candidates.length === 0) return new Map()
    const times = candidates.map(({ timestamp_ms }) => timestamp_ms)
    const rows = await queryEvents(project_id, SELECT_MATCHES(action_id), {
      from: new Date(Math.max(FIRST_MS, Math.min(...times) - MARGIN_MS)).toISOString(),
      to: new Date(Math.max(...times) + MARGIN_MS).toISOString(),
      uuids: candidates.map(({ uuid }) => uuid),
    })
    const found = await mapInSlices(rows, ([uuid, person_id, properties]) => {
      const person = { uuid: String(person_id), properties: parseProperties(properties) }
      return [String(uuid), person] as const
    })
    return new Map(found)
  }
}

function parseProperties(properties: unknown): unknown {
  return typeof properties === 'string' && properties !== '' ? JSON.parse(properties) : {}
}
