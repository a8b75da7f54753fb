/** HogQL queries that routes run for their own figures about flags, surveys and experiments. */
import { findProject, type Project } from '../../../projects/settings/project.ts'
import { prepareQuery } from '../../../query/kinds/query-kinds.ts'
import { PEOPLE_PER_PAGE } from '../../../targeting/cohorts/behavior.ts'
import type { QueryEvents } from '../../../targeting/cohorts/behavioral-cohort.ts'
import { parseRows } from '../../../threads/sliced-json.ts'
import type { AppContext } from '../../app-context.ts'
import { projectContext } from './query-context.ts'

/** Limits of these queries, independent of the caller's. */
export const OWN_LIMITS = { rows_max: PEOPLE_PER_PAGE } as const

/** The project, the request, and the values of `{name}` placeholders. */
export type EventListCall = {
  readonly project: Project
  readonly request: Pick<Request, 'signal'>
  readonly values?: Readonly<Record<string, unknown>>
  /** Property filters for the placeholder `{filters}`. */
  readonly properties?: readonly unknown[]
}

/** Runs a HogQL query and returns its rows; the client's disconnect cancels it. */
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
    // The texts are the server's own, and no caller reads their rows.
    projectContext(app, { ...project, hidden_tables: [] }),
  )
  const { results } = await app.query_service.answerInParts(prepared, {
    mode: 'force_blocking',
    client_query_id: null,
    signal: request.signal,
  })
  return results === null ? [] : parseRows(results)
}

type EventQueryContext = Pick<
  AppContext,
  'control' | 'definitions' | 'query_limits' | 'query_service'
>

/**
 * Returns a function that runs queries in the background, without a request. It throws when the project was
 * deleted.
 */
export function backgroundQueryEvents(parts: EventQueryContext): QueryEvents {
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
