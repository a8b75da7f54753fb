/** Static cohorts from a query: the persons of an ActorsQuery. */

import { Refusal } from '../../../errors.ts'
import { parseRows } from '../../../threads/sliced-json.ts'
import { isUuid, uuidBytes } from '../../../uuid.ts'
import { prepareSaved } from '../../analytics/queries/query.ts'
import type { QueryCall } from '../../analytics/queries/query-context.ts'
import type { AppContext } from '../../app-context.ts'
import { withoutIdleTimeout } from '../../idle-timeout.ts'

/** The most persons that one query adds to a cohort. */
const PEOPLE_MAX = 100_000
const PAGE = 10_000

/**
 * Returns the ids of a query's persons. Refuses what the query endpoint refuses, and queries for other actors.
 */
export function personsInQuery(
  ...requested: Parameters<typeof askPersons>
): Promise<readonly Uint8Array[]> {
  const [, call] = requested
  return withoutIdleTimeout(call, () => askPersons(...requested))
}

async function askPersons(
  app: AppContext,
  call: QueryCall,
  query: Readonly<Record<string, unknown>>,
): Promise<readonly Uint8Array[]> {
  const { caller, request } = call
  const actors = query['kind'] === 'ActorsQuery' ? query : { kind: 'ActorsQuery', source: query }
  const page = Math.min(PAGE, app.query_limits.rows_max)
  const leave = app.key_limits.enter(caller.id)
  try {
    const result: Uint8Array[] = []
    for (let offset = 0; ; offset += page) {
      const whole = { ...actors, select: ['id'], orderBy: ['id'], limit: page, offset }
      const answer = await app.query_service.answerInParts(prepareSaved(app, call, whole), {
        mode: 'force_blocking',
        client_query_id: null,
        signal: request.signal,
      })
      const { hasMore }: { hasMore: boolean } = JSON.parse(answer.members)
      const rows = answer.results === null ? [] : await parseRows<[unknown]>(answer.results)
      for (const [id] of rows) result.push(personIn(id))
      if (!hasMore) return result
      if (result.length >= PEOPLE_MAX) throw tooMany()
    }
  } finally {
    leave()
  }
}

function personIn(id: unknown): Uint8Array {
  if (typeof id === 'string' && isUuid(id)) {
    return uuidBytes(id)
  }
  throw new Refusal('invalid_input', 'The query does not answer persons.', { attr: 'query' })
}

function tooMany(): Refusal {
  const detail = `The query answers more than ${PEOPLE_MAX} persons.`
  return new Refusal('invalid_input', detail, { attr: 'query' })
}
