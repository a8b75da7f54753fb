/** Checks whether a project's events carry the variant that persons saw: results of an experiment need that. */
import {
  ImplementationAnswer,
  ImplementationQuery,
} from '../../../contract/targeting/experiment-results.ts'
import { Refusal } from '../../../errors.ts'
import { stepsOf } from '../../../insights/members/actions.ts'
import { listActions } from '../../../targeting/action.ts'
import { queryEvents } from '../../analytics/queries/event-queries.ts'
import { answerJson } from '../../answers/answers.ts'
import { queryValue } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { projectRoute } from '../../route.ts'

/** The most events that one check covers. */
const EVENTS_MAX = 100

export const EXPERIMENT_IMPLEMENTATION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiments/requires_flag_implementation/',
    scope: 'experiment:read',
    summary: 'Check whether no event of these names in the last seven days has the variant.',
    query: ImplementationQuery,
    answers: { 200: ImplementationAnswer },
    answer: async (app, { request, project }) => {
      const names = [
        ...readEntities(request, 'events').flatMap((id) => (typeof id === 'string' ? id : [])),
        ...eventsOfActions(app, project.id, readEntities(request, 'actions')),
      ]
      const [row] =
        names.length === 0
          ? []
          : await queryEvents(app, { project, request, values: { names } }, EVENT_WITH_VARIANT)
      return answerJson({ result: row === undefined })
    },
  }),
] as const

const EVENT_WITH_VARIANT = `
  select 1 from events
  where event in {names} and timestamp >= now() - toIntervalDay(7) and properties like '%"$feature/%'
  limit 1`

function eventsOfActions(
  app: AppContext,
  project_id: number,
  ids: readonly unknown[],
): readonly string[] {
  const allowed = new Set(ids.map(Number))
  return listActions(app.control, project_id)
    .filter(({ id }) => allowed.has(id))
    .flatMap((action) => stepsOf(action).flatMap(({ event }) => event ?? []))
}

/** Reads the ids of a list of legacy filters: `[{"id": "$pageview"}]`. Refuses anything else. */
function readEntities(request: Request, name: string): readonly unknown[] {
  const text = queryValue(request, name)
  if (text === null || text === '') return []
  const list = listIn(text)
  if (list === null || list.length > EVENTS_MAX) {
    const detail = `Must be a JSON list of at most ${EVENTS_MAX} objects with an id.`
    throw new Refusal('invalid_input', detail, { attr: name })
  }
  return list.flatMap((one) =>
    typeof one === 'object' && one !== null && 'id' in one ? [one.id] : [],
  )
}

function listIn(text: string): readonly unknown[] | null {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : null
  } catch {
    return null
  }
}
