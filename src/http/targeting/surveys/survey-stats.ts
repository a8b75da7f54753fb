/** Statistics of surveys from events: persons who saw, dismissed and answered them, and the answers. */

import {
  AllSurveyStats,
  ArchivedResponses,
  ResponseCounts,
  ResponseCountsQuery,
  ResponsesAnswer,
  ResponsesQuery,
  SurveyStats,
  SurveyStatsQuery,
} from '../../../contract/targeting/surveys.ts'
import { Refusal } from '../../../errors.ts'
import { isYes } from '../../../insights/legacy/legacy-filters.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { getSurvey, listSurveyHeads, type Survey } from '../../../targeting/surveys/survey.ts'
import { archiveResponse, listArchived } from '../../../targeting/surveys/survey-responses.ts'
import { mapInSlices } from '../../../threads/sliced-json.ts'
import { isUuid } from '../../../uuid.ts'
import { queryEvents } from '../../analytics/queries/event-queries.ts'
import { answerJson } from '../../answers/answers.ts'
import { neighbourPages, queryValue, readPage } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { parseTimestamp } from '../../bodies/timestamps.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseUuidId } from '../../path-ids.ts'
import { pathNames, projectRoute } from '../../route.ts'

const PAGE_MAX = 1000

const ARCHIVE_ROUTES = (['archive', 'unarchive'] as const).map((turn) =>
  projectRoute({
    method: 'POST',
    path: `surveys/:id/responses/:uuid/${turn}/`,
    scope: 'survey:write',
    summary: turn === 'archive' ? 'Archive a response.' : 'Unarchive a response.',
    answers: { 204: null },
    answer: (app, { params, project, caller }) => {
      const survey = getSurvey(app.control, project.id, parseUuidId(params))
      const uuid = pathNames(params, 'uuid').toLowerCase()
      if (!isUuid(uuid)) throw new Refusal('not_found', 'Not found.')
      const editor = targetingEditor(app, project, caller)
      archiveResponse(editor, survey, { uuid, is_archived: turn === 'archive' }, app.now())
      return new Response(null, { status: 204 })
    },
  }),
)

export const SURVEY_STATS_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'surveys/responses_count/',
    scope: 'survey:read',
    summary: 'Count the responses to each survey.',
    query: ResponseCountsQuery,
    answers: { 200: ResponseCounts },
    answer: async (app, { request, project }) => {
      const named = (queryValue(request, 'survey_ids') ?? '').split(',').map((id) => id.trim())
      const wanted = new Set(named.filter((id) => id !== ''))
      const surveys = listSurveyHeads(app.control, project.id)
      const values = { archived: await archivedFor(app, request, surveys) }
      const rows = await queryEvents(app, { project, request, values }, COUNTS)
      const counted = rows.filter(([id]) => wanted.size === 0 || wanted.has(String(id)))
      return answerJson(Object.fromEntries(counted.map(([id, count]) => [String(id), count])))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/stats/',
    scope: 'survey:read',
    summary: 'Count shown, dismissed and answered surveys, of all that are not archived.',
    query: SurveyStatsQuery,
    answers: { 200: AllSurveyStats },
    answer: async (app, { request, project }) => {
      const all = listSurveyHeads(app.control, project.id)
      const surveys = all.filter(({ archived }) => !archived)
      return answerJson(await readStats(app, { project, request }, surveys))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/:id/stats/',
    scope: 'survey:read',
    summary: 'Count how often a survey was shown, dismissed and answered.',
    query: SurveyStatsQuery,
    answers: { 200: SurveyStats },
    answer: async (app, { request, params, project }) => {
      const survey = getSurvey(app.control, project.id, parseUuidId(params))
      const { id: survey_id, start_date, end_date } = survey
      const figures = await readStats(app, { project, request }, [survey])
      return answerJson({ ...figures, survey_id, start_date, end_date })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/:id/responses/',
    scope: 'survey:read',
    summary: 'List the responses to a survey, newest first.',
    query: ResponsesQuery,
    answers: { 200: ResponsesAnswer },
    answer: async (app, { request, params, project }) => {
      const survey = getSurvey(app.control, project.id, parseUuidId(params))
      return answerResponses(app, { project, request }, survey)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/:id/archived-response-uuids/',
    scope: 'survey:read',
    summary: 'List the uuids of archived responses.',
    answers: { 200: ArchivedResponses },
    answer: (app, { params, project }) => {
      const { id } = getSurvey(app.control, project.id, parseUuidId(params))
      return answerJson(listArchived(app.control, id))
    },
  }),
  ...ARCHIVE_ROUTES,
]

/**
 * SDKs that send partial answers repeat the whole answer each time, under one submission id; the last event
 * counts. Scripts may use one id for several surveys.
 */
const isLastOfSubmission = (responses: string): string => `uuid in (
  select argMax(uuid, timestamp)
  from events
  where ${responses}
  group by properties.$survey_id, if(empty(coalesce(toString(properties.$survey_submission_id), '')), toString(uuid), toString(properties.$survey_submission_id))
)`

const COUNTS = `
select properties.$survey_id, count()
from events
where event = 'survey sent' and ${isLastOfSubmission("event = 'survey sent'")} and toString(uuid) not in {archived}
group by properties.$survey_id
limit 10000`

/** A partial answer is sent as dismissed too, and is no dismissal. */
const SURVEY_EVENTS = `
event in ('survey shown', 'survey dismissed', 'survey sent')
and properties.$survey_id in {surveys}
and timestamp >= toDateTime64({from}, 3, 'UTC') and timestamp <= toDateTime64({until}, 3, 'UTC')
and toString(uuid) not in {archived}
and (event != 'survey dismissed' or coalesce(toString(properties.$survey_partially_completed), 'false') != 'true')
and (event != 'survey sent' or ${isLastOfSubmission("event = 'survey sent' and properties.$survey_id in {surveys}")})`

/** Per event its number, persons, first and last time; then the persons who dismissed or answered. */
const STATS = `
select ${['survey shown', 'survey dismissed', 'survey sent']
  .map((event) => {
    const only = (value: string) => `if(event = '${event}', ${value}, null)`
    return `countIf(event = '${event}'), count(distinct ${only('person_id')}), min(${only('timestamp')}), max(${only('timestamp')})`
  })
  .join(', ')}, count(distinct if(event != 'survey shown', person_id, null))
from events
where ${SURVEY_EVENTS}`

const RESPONSES = `
select uuid, timestamp, distinct_id, person_id, properties
from events
where event = 'survey sent' and ${SURVEY_EVENTS}
order by timestamp desc, uuid
limit {limit} offset {offset}`

type SurveyId = Pick<Survey, 'id'>
type SurveyStatsCall = { readonly project: Project; readonly request: Request }
type EventFigures = readonly [total: number, people: number, first: unknown, last: unknown]

async function readStats(
  app: AppContext,
  call: SurveyStatsCall,
  surveys: readonly SurveyId[],
): Promise<object> {
  const values = {
    surveys: namesOf(surveys),
    archived: await archivedFor(app, call.request, surveys),
    ...readTimeRange(call.request, 'date_from', 'date_to'),
  }
  const [row = []] = await queryEvents(app, { ...call, values }, STATS)
  const figuresAt = (at: number): EventFigures => {
    const [total = 0, persons = 0, first = null, last = null] = row.slice(at * 4, at * 4 + 4)
    return [Number(total), Number(persons), first, last]
  }
  const [shown, dismissed, sent] = [figuresAt(0), figuresAt(1), figuresAt(2)]
  // Persons who dismissed and then answered count as answered.
  const both = dismissed[1] + sent[1] - Number(row.at(-1) ?? 0)
  return figuresOf({ shown, dismissed, sent, both })
}

type SurveyCounts = Readonly<Record<'dismissed' | 'sent' | 'shown', EventFigures>> & {
  readonly both: number
}

function figuresOf({ shown, dismissed, sent: input, both }: SurveyCounts): object {
  const dismissers = Math.max(0, dismissed[1] - both)
  const only_seen = {
    total_count_only_seen: Math.max(0, shown[0] - dismissed[0] - input[0]),
    unique_persons_only_seen: Math.max(0, shown[1] - dismissers - input[1]),
  }
  const none = { total_count_only_seen: 0, unique_persons_only_seen: 0 }
  return {
    stats: {
      'survey shown': { ...eventOnWire(shown), ...only_seen },
      'survey dismissed': { ...eventOnWire(dismissed), unique_persons: dismissers, ...none },
      'survey sent': { ...eventOnWire(input), ...none },
    },
    rates: {
      response_rate: percent(input[0], shown[0]),
      dismissal_rate: percent(dismissed[0], shown[0]),
      unique_users_response_rate: percent(input[1], shown[1]),
      unique_users_dismissal_rate: percent(dismissers, shown[1]),
    },
  }
}

function eventOnWire([total_count, unique_persons, first_seen, last_seen]: EventFigures): object {
  return { total_count, unique_persons, first_seen, last_seen }
}

/** A percentage with two decimals. */
function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100
}

async function answerResponses(
  app: AppContext,
  call: SurveyStatsCall,
  survey: Survey,
): Promise<Response> {
  const { request } = call
  const { offset, limit } = readPage(request, { limit_max: PAGE_MAX })
  const values = {
    surveys: namesOf([survey]),
    archived: await archivedFor(app, request, [survey]),
    ...readTimeRange(request, 'since', 'until'),
    limit: limit + 1,
    offset,
  }
  const rows = await queryEvents(app, { ...call, values }, RESPONSES)
  const archived = new Set(listArchived(app.control, survey.id))
  return answerJson({
    results: rows.slice(0, limit).map(([uuid, timestamp, distinct_id, person_id, properties]) => ({
      uuid,
      timestamp,
      distinct_id,
      person_id,
      archived: archived.has(String(uuid)),
      answers: answersIn(survey, propertiesIn(properties)),
    })),
    ...neighbourPages(request, app.publicUrl(), { offset, limit, has_more: rows.length > limit }),
  })
}

type SurveyEventProperties = Readonly<Record<string, unknown>>

function propertiesIn(text: unknown): SurveyEventProperties {
  return (typeof text === 'string' ? JSON.parse(text) : text) as SurveyEventProperties
}

/** Returns the answers of a response; older SDKs name questions by index. */
function answersIn(
  { questions: queries }: Survey,
  properties: SurveyEventProperties,
): SurveyEventProperties {
  const requested = (Array.isArray(queries) ? queries : []) as { readonly id?: string }[]
  const answers = requested.map(({ id }, index) => {
    const by_place = index === 0 ? '$survey_response' : `$survey_response_${index}`
    const by_id = id === undefined ? undefined : properties[`$survey_response_${id}`]
    return [id ?? String(index), by_id ?? properties[by_place] ?? null] as const
  })
  return Object.fromEntries(answers)
}

/** Placeholder for an empty list, which engines treat differently. */
const NO_SURVEY = '00000000-0000-0000-0000-000000000000'

function namesOf(surveys: readonly SurveyId[]): readonly string[] {
  return surveys.length === 0 ? [NO_SURVEY] : surveys.map(({ id }) => id)
}

async function archivedFor(
  app: AppContext,
  request: Request,
  surveys: readonly SurveyId[],
): Promise<readonly string[]> {
  if (!isYes(queryValue(request, 'exclude_archived'))) return [NO_SURVEY]
  const archived = await mapInSlices(surveys, ({ id }) => listArchived(app.control, id))
  return [NO_SURVEY, ...archived.flat()]
}

const LONG_AGO = '1970-01-01T00:00:00.000Z'
const FAR_OFF = '2199-12-31T23:59:59.000Z'

/** Reads the time range of a request. Refuses a range that ends before it begins. */
function readTimeRange(request: Request, from_name: string, until_name: string) {
  const read = (name: string) => parseTimestamp(queryValue(request, name) || null, name) ?? null
  const from = read(from_name)
  const until = read(until_name)
  if (from !== null && until !== null && from > until) {
    const detail = `${from_name} must be before ${until_name}`
    throw new Refusal('invalid_input', detail, { attr: from_name })
  }
  return { from: from?.toISOString() ?? LONG_AGO, until: until?.toISOString() ?? FAR_OFF }
}
