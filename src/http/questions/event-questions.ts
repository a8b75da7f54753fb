/** Questions that routes ask about events for themselves: figures about flags, surveys and experiments. */
import { findProject, type Project } from '../../projects/project.ts'
import { prepareQuestion } from '../../query/run.ts'
import { PEOPLE_PER_PAGE } from '../../targeting/behavior.ts'
import type { AskEvents } from '../../targeting/behavioral-cohort.ts'
import type { Needs } from '../needs.ts'

/** What holds for questions of our own, whatever callers may ask. */
export const OWN_LIMITS = { rows_max: PEOPLE_PER_PAGE } as const

/** Whose events are asked about, for which request, and what stands for `{name}` in the text. */
export type EventsAsked = {
  readonly project: Project
  readonly request: Pick<Request, 'signal'>
  readonly values?: Readonly<Record<string, unknown>>
}

/** Asks a HogQL question and answers its rows. A caller who hangs up does not want them any more. */
export async function askEvents(
  needs: Pick<Needs, 'definitions' | 'query_limits' | 'questions'>,
  { project, request, values = {} }: EventsAsked,
  query: string,
): Promise<readonly (readonly unknown[])[]> {
  const prepared = prepareQuestion(
    { kind: 'HogQLQuery', query, values },
    { filters: null, variables: null },
    {
      project,
      property_types: needs.definitions.propertyTypes(project.id),
      property_columns: needs.definitions.propertyColumns(project.id),
      rows_max: needs.query_limits.rows_max,
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
  return (project_id, query, values) => {
    const project = findProject(parts.control, project_id)
    if (project === null) throw new Error(`there is no project ${project_id}`)
    return askEvents(parts, { project, request: new AbortController(), values }, query)
  }
}
