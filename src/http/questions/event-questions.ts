/** Questions that routes ask about events for themselves: figures about flags, surveys and experiments. */
import { findProject, type Project } from '../../projects/project.ts'
import { prepareQuestion } from '../../query/run.ts'
import { listActions } from '../../targeting/action.ts'
import { PEOPLE_PER_PAGE } from '../../targeting/behavior.ts'
import type { AskEvents } from '../../targeting/behavioral-cohort.ts'
import { listNamedCohorts } from '../../targeting/named-cohorts.ts'
import type { Needs } from '../needs.ts'

/** What holds for questions of our own, whatever callers may ask. */
export const OWN_LIMITS = { rows_max: PEOPLE_PER_PAGE } as const

/** Whose events are asked about, for which request, and what stands for `{name}` in the text. */
export type EventsAsked = {
  readonly project: Project
  readonly request: Pick<Request, 'signal'>
  readonly values?: Readonly<Record<string, unknown>>
  /** Property filters that stand for `{filters}`. */
  readonly properties?: readonly unknown[]
}

/** Asks a HogQL question and answers its rows. A caller who hangs up does not want them any more. */
export async function askEvents(
  needs: AskerParts,
  { project, request, values = {}, properties }: EventsAsked,
  query: string,
): Promise<readonly (readonly unknown[])[]> {
  const prepared = prepareQuestion(
    {
      kind: 'HogQLQuery',
      query,
      values,
      ...(properties === undefined ? {} : { filters: { properties: [...properties] } }),
    },
    { filters: null, variables: null },
    {
      project,
      property_types: needs.definitions.propertyTypes(project.id),
      property_columns: needs.definitions.propertyColumns(project.id),
      rows_max: needs.query_limits.rows_max,
      get actions() {
        return listActions(needs.control, project.id)
      },
      get cohorts() {
        return listNamedCohorts(needs.control, project.id)
      },
    },
  )
  const body = await needs.questions.ask(prepared, {
    mode: 'force_blocking',
    client_query_id: null,
    signal: request.signal,
  })
  const { results }: { results: unknown[][] } = JSON.parse(new TextDecoder().decode(body))
  return results
}

type AskerParts = Pick<Needs, 'control' | 'definitions' | 'query_limits' | 'questions'>

/** Asks for work in the background, where no request waits. Throws when the project is gone. */
export function eventAsker(parts: AskerParts): AskEvents {
  return (project_id, query, values, properties = []) => {
    const project = findProject(parts.control, project_id)
    if (project === null) throw new Error(`there is no project ${project_id}`)
    const narrowed = properties.length === 0 ? {} : { properties }
    return askEvents(parts, { project, request: new AbortController(), values, ...narrowed }, query)
  }
}
