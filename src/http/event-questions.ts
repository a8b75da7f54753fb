/** Questions that routes ask about events for themselves: figures about flags, surveys and experiments. */
import type { Project } from '../projects/project.ts'
import { prepareQuestion } from '../query/run.ts'
import type { Needs } from './needs.ts'

/** Whose events are asked about, for which request, and what stands for `{name}` in the text. */
export type EventsAsked = {
  readonly project: Project
  readonly request: Request
  readonly values?: Readonly<Record<string, unknown>>
}

/** Asks a HogQL question and answers its rows. A caller who hangs up does not want them any more. */
export async function askEvents(
  needs: Needs,
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
