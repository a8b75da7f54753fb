/** Queries that routes ask about events for themselves: figures about flags, surveys and experiments. */
import { findProject, type Project } from '../../projects/project.ts'
import { prepareQuery } from '../../query/kinds/query-kinds.ts'
import { listActions } from '../../targeting/action.ts'
import { PEOPLE_PER_PAGE } from '../../targeting/cohorts/behavior.ts'
import type { AskEvents } from '../../targeting/cohorts/behavioral-cohort.ts'
import { listNamedCohorts } from '../../targeting/cohorts/named-cohorts.ts'
import type { AppContext } from '../app-context.ts'

/** What holds for queries of our own, whatever callers may ask. */
export const OWN_LIMITS = { rows_max: PEOPLE_PER_PAGE } as const

/** Whose events are asked about, for which request, and what stands for `{name}` in the text. */
export type EventListCall = {
  readonly project: Project
  readonly request: Pick<Request, 'signal'>
  readonly values?: Readonly<Record<string, unknown>>
  /** Property filters that stand for `{filters}`. */
  readonly properties?: readonly unknown[]
}

/** Asks a HogQL query and answers its rows. A caller who hangs up does not want them any more. */
export async function queryEvents(
  app: EventQueryContext,
  { project, request, values = {}, properties }: EventListCall,
  query: string,
): Promise<readonly (readonly unknown[])[]> {
  const prepared = prepareQuery(
    {
      kind: 'HogQLQuery',
      query,
      values,
      ...(properties === undefined ? {} : { filters: { properties: [...properties] } }),
    },
    { filters: null, variables: null },
    {
      project,
      property_types: app.definitions.propertyTypes(project.id),
      property_columns: app.definitions.propertyColumns(project.id),
      rows_max: app.query_limits.rows_max,
      get actions() {
        return listActions(app.control, project.id)
      },
      get cohorts() {
        return listNamedCohorts(app.control, project.id)
      },
    },
  )
  const body = await app.query_service.ask(prepared, {
    mode: 'force_blocking',
    client_query_id: null,
    signal: request.signal,
  })
  const { results }: { results: unknown[][] } = JSON.parse(new TextDecoder().decode(body))
  return results
}

type EventQueryContext = Pick<
  AppContext,
  'control' | 'definitions' | 'query_limits' | 'query_service'
>

/** Asks for work in the background, where no request waits. Throws when the project is gone. */
export function eventQueryContext(parts: EventQueryContext): AskEvents {
  return (project_id, query, values, properties = []) => {
    const project = findProject(parts.control, project_id)
    if (project === null) throw new Error(`there is no project ${project_id}`)
    const narrowed = properties.length === 0 ? {} : { properties }
    return queryEvents(
      parts,
      { project, request: new AbortController(), values, ...narrowed },
      query,
    )
  }
}
