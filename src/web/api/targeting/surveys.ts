/** Calls for surveys: the list, one survey, its figures, its responses. */
import { queryOptions, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useProject } from '../../state/project.tsx'
import { type ApiError, type CallMethod, call } from '../calls/call.ts'
import { queryClient } from '../calls/client.ts'
import { type ItemPages, useItemPages } from '../calls/pages.ts'
import { useSettled } from '../definitions.ts'
import type { ShownResponse, ShownSurvey, SurveyFigures } from '../types/shown-survey.ts'

/** Surveys whose name or description contains a text, the newest first, page by page: the archived ones, or all others. */
export function useSurveys(search: string, is_archived: boolean): ItemPages<ShownSurvey> {
  const query = { search: useSettled(search), archived: is_archived }
  return useItemPages({ family: 'surveys', path: 'surveys/', query })
}

/** The number of responses that are not archived, by survey id; surveys without any are missing. */
export function useResponseCounts(): UseQueryResult<Readonly<Record<string, number>>, ApiError> {
  const { id } = useProject()
  return useQuery({
    queryKey: ['surveys', id, 'counts'],
    queryFn: ({ signal }) =>
      call('GET', pathOf(id, 'responses_count/'), { query: EXCLUDE_ARCHIVED, signal }),
  })
}

const EXCLUDE_ARCHIVED = { exclude_archived: 'true' } as const

/** One survey by its id. */
export function useSurvey(survey_id: string): UseQueryResult<ShownSurvey, ApiError> {
  const { id } = useProject()
  return useQuery<ShownSurvey, ApiError>(surveyQuery(id, survey_id))
}

/** The survey as it is stored now; its page shows it too. Throws ApiError. */
export const readSurvey = (project_id: number, survey_id: string): Promise<ShownSurvey> =>
  queryClient.fetchQuery({ ...surveyQuery(project_id, survey_id), staleTime: 0 })

function surveyQuery(project_id: number, survey_id: string) {
  const path = pathOf(project_id, `${encodeURIComponent(survey_id)}/`)
  return queryOptions<ShownSurvey, ApiError>({
    queryKey: ['surveys', project_id, survey_id],
    queryFn: ({ signal }) => call<ShownSurvey>('GET', path, { signal }),
  })
}

/** Creates or changes a survey, and asks again for the surveys that are shown. Throws ApiError. */
export const changeSurvey = (
  project_id: number,
  survey_id: string | null,
  body: object,
): Promise<ShownSurvey> =>
  survey_id === null
    ? send(project_id, ['POST', ''], body)
    : send(project_id, ['PATCH', `${survey_id}/`], body)

/** Launches or resumes a survey, or stops it. Throws ApiError. */
export const turnSurvey = (
  project_id: number,
  survey_id: string,
  turn: 'launch' | 'stop',
): Promise<ShownSurvey> => send(project_id, ['POST', `${survey_id}/${turn}/`], {})

async function send(
  project_id: number,
  [method, path]: readonly [method: CallMethod, path: string],
  body: object,
): Promise<ShownSurvey> {
  const survey = await call<ShownSurvey>(method, pathOf(project_id, path), { body })
  queryClient.setQueryData(['surveys', project_id, survey.id], survey)
  await queryClient.invalidateQueries({ queryKey: ['surveys', project_id, 'list'] })
  return survey
}

/** Deletes a survey; its events stay. Throws ApiError. */
export async function deleteSurvey(project_id: number, survey_id: string): Promise<void> {
  await call('DELETE', pathOf(project_id, `${survey_id}/`))
  await queryClient.invalidateQueries({ queryKey: ['surveys', project_id, 'list'] })
}

/** The counts of a survey's events, shown, dismissed and sent, without archived responses. */
export function useSurveyFigures(survey_id: string): UseQueryResult<SurveyFigures, ApiError> {
  const { id } = useProject()
  return useQuery({
    queryKey: ['surveys', id, survey_id, 'stats'],
    queryFn: ({ signal }) =>
      call('GET', pathOf(id, `${survey_id}/stats/`), { query: EXCLUDE_ARCHIVED, signal }),
  })
}

const RESPONSES_PAGE = 20

/** The responses to a survey, the latest first, page by page; archived ones only when they are wanted too. */
export const useResponses = (survey_id: string, has_archived: boolean): ItemPages<ShownResponse> =>
  useItemPages({
    family: 'surveys',
    path: `surveys/${survey_id}/responses/`,
    query: has_archived ? {} : EXCLUDE_ARCHIVED,
    size: RESPONSES_PAGE,
  })

/** The uuids of a survey's archived responses. */
export function useArchivedResponses(
  survey_id: string,
): UseQueryResult<readonly string[], ApiError> {
  const { id } = useProject()
  return useQuery({
    queryKey: ['surveys', id, survey_id, 'archived'],
    queryFn: ({ signal }) =>
      call('GET', pathOf(id, `${survey_id}/archived-response-uuids/`), { signal }),
  })
}

/** Archives a response or takes it back, and asks again for the survey's numbers. Throws ApiError. */
export async function archiveResponse(
  project_id: number,
  survey_id: string,
  { uuid, is_archived }: { readonly uuid: string; readonly is_archived: boolean },
): Promise<void> {
  const turn = is_archived ? 'archive' : 'unarchive'
  await call('POST', pathOf(project_id, `${survey_id}/responses/${uuid}/${turn}/`))
  await queryClient.invalidateQueries({ queryKey: ['surveys', project_id] })
}

const pathOf = (project_id: number, rest: string): string =>
  `/api/projects/${project_id}/surveys/${rest}`
