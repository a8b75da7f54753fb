/** Saved insights with their results: executed like any query, serialized like cached answers. */

import { FiltersOverride, REFRESH_MODES } from '../../../contract/analytics/query.ts'
import type { Dashboard } from '../../../dashboards/dashboard.ts'
import type { SavedInsight } from '../../../dashboards/insight.ts'
import { readTilesOfInsights } from '../../../dashboards/tile.ts'
import { Refusal } from '../../../errors.ts'
import { isYes, legacyJson } from '../../../insights/legacy/legacy-filters.ts'
import { legacyInsightQuery } from '../../../insights/legacy/legacy-insights.ts'
import { isObject } from '../../../json.ts'
import { isShown, rightsAt } from '../../../projects/rights/rights.ts'
import type { Project } from '../../../projects/settings/project.ts'
import type { Json } from '../../../projects/tables.ts'
import { overrideFilters } from '../../../query/kinds/filters-override.ts'
import type { PreparedQuery } from '../../../query/kinds/prepared-query.ts'
import type { RefreshMode } from '../../../query/service/refresh.ts'
import { RawJson } from '../../answers/answers.ts'
import { queryValue, queryValues } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder } from '../../callers/authors.ts'
import { prepareSaved } from '../queries/query.ts'
import { answerForCaller, type QueryCall } from '../queries/query-context.ts'

/** The members of an insight's answer that come from its result. */
export type InsightResult = {
  /** As it was computed: results may be long, and nothing here looks into them. */
  readonly result: RawJson | null
  readonly hasMore: unknown
  readonly columns: unknown
  readonly types: unknown
  readonly hogql: unknown
  readonly is_cached: boolean
  readonly last_refresh: unknown
  readonly cache_target_age: unknown
  readonly next_allowed_client_refresh: unknown
  readonly query_status: unknown
}

/** The members of an insight that was not executed. */
export const NO_RESULT: InsightResult = {
  result: null,
  hasMore: null,
  columns: null,
  types: null,
  hogql: null,
  is_cached: false,
  last_refresh: null,
  cache_target_age: null,
  next_allowed_client_refresh: null,
  query_status: null,
}

type ResultOptions = {
  readonly mode: RefreshMode
  /** Filters and variables that a dashboard applies to all of its insights. */
  readonly overrides?: { readonly filters: Json; readonly variables: Json }
}

/** Reads the refresh mode of a request; by default nothing is computed. Refuses unknown modes. */
export function readRefresh(request: Request, fallback: RefreshMode = 'force_cache'): RefreshMode {
  return refreshByName(queryValue(request, 'refresh') ?? '', fallback)
}

/** Parses a refresh mode; `fallback` when it is missing. Refuses unknown modes. */
export function refreshByName(mode_name: string, fallback: RefreshMode): RefreshMode {
  if (mode_name === '' || /^(false|0)$/i.test(mode_name)) return fallback
  if (isYes(mode_name)) return 'force_blocking'
  const mode = REFRESH_MODES.find((one) => one === mode_name)
  if (mode !== undefined) return mode
  const detail = `${JSON.stringify(mode_name.slice(0, 100))} is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr: 'refresh' })
}

/**
 * Reads overrides of stored members from the address, as JSON. Refuses anything but an object, naming the
 * parameter.
 */
function readOverrides(request: Request): {
  readonly filters: Json
  readonly variables: Json
} {
  const input = queryValues(request)
  const read = (name: string): Json => {
    const value = legacyJson(input, name) ?? {}
    if (isObject(value)) return value as Json
    throw new Refusal('invalid_input', 'Must be a JSON object.', { attr: name })
  }
  return { filters: read('filters_override'), variables: read('variables_override') }
}

/** Merges the overrides in the request's address over those stored with a dashboard. */
export function overridesOn(
  dashboard: Dashboard | null,
  request: Request,
): { readonly filters: Json; readonly variables: Json } {
  const requested = readOverrides(request)
  return {
    filters: { ...Object(dashboard?.filters), ...Object(requested.filters) },
    variables: { ...Object(dashboard?.variables), ...Object(requested.variables) },
  }
}

/** Returns the insight with its query as the filters of a dashboard change it; filters of no such shape change nothing. */
export function withFilters(insight: SavedInsight, filters: Json): SavedInsight {
  const { query } = insight
  if (!isObject(query) || Object.keys(Object(filters)).length === 0) return insight
  try {
    return { ...insight, query: overrideFilters(query, FILTERS.require(filters)) as Json }
  } catch (error) {
    if (error instanceof Refusal) return insight
    throw error
  }
}

const FILTERS = validatorOf(FiltersOverride)

/**
 * Computes an insight's query or its legacy filters. A member who may not run queries gets the refusal in place
 * of the result, and still reads the stored members. Refuses what the query endpoint refuses.
 */
export async function computeInsight(
  app: AppContext,
  call: QueryCall,
  { query, filters }: Pick<SavedInsight, 'filters' | 'query'>,
  { mode, overrides }: ResultOptions,
): Promise<InsightResult> {
  if (query === null && isEmpty(filters)) return NO_RESULT
  if (!isShown(rightsAt(app.control, call.caller, call), 'insight.result'))
    return failedInsight(HIDDEN)
  const prepared =
    query === null
      ? orRefusal(() => prepareSaved(app, call, legacyInsightQuery(Object(filters)), overrides))
      : prepareSaved(app, call, query, overrides)
  return prepared instanceof Refusal
    ? failedInsight(prepared)
    : runPrepared(app, call, prepared, mode)
}

const HIDDEN = new Refusal('permission_denied', 'You do not have viewer access to query.')

/** Runs a prepared query and returns its answer in the members of an insight. */
export async function runPrepared(
  app: AppContext,
  call: QueryCall,
  prepared: PreparedQuery,
  mode: RefreshMode,
): Promise<InsightResult> {
  const { results, members } = await answerForCaller(app, call, () => prepared, mode)
  const answer: Readonly<Record<string, unknown>> = JSON.parse(members)
  return {
    result: results && new RawJson(results),
    hasMore: answer['hasMore'] ?? null,
    columns: answer['columns'] ?? null,
    types: answer['types'] ?? null,
    hogql: answer['hogql'] ?? null,
    is_cached: answer['is_cached'] === true,
    last_refresh: answer['last_refresh'] ?? null,
    cache_target_age: answer['cache_target_age'] ?? null,
    next_allowed_client_refresh: answer['next_allowed_client_refresh'] ?? null,
    query_status: answer['query_status'] ?? null,
  }
}

const isEmpty = (filters: Json): boolean => Object.keys(Object(filters)).length === 0

/** Computes one insight of a list: a refusal becomes its result. */
export async function tryInsight(
  ...requested: Parameters<typeof computeInsight>
): Promise<InsightResult> {
  try {
    return await computeInsight(...requested)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'throttled') throw error
    return failedInsight(error)
  }
}

/** Filters are stored without checks, so reading an insight must not fail on them. */
function orRefusal(prepare: () => PreparedQuery): PreparedQuery | Refusal {
  try {
    return prepare()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function failedInsight({ detail }: Refusal): InsightResult {
  return { ...NO_RESULT, query_status: { error: true, error_message: detail } }
}

/** Returns a function that serializes insights of one project during one request. */
export function insightSerializer(
  app: AppContext,
  project: Project,
): (insight: SavedInsight, result: InsightResult) => object {
  const nameAuthor = authorFinder(app)
  const places = readTilesOfInsights(app.control, project.id)
  return (insight, result) => {
    const { project_id: _project, ...stored } = insight
    const tiles = places(insight.id)
    return {
      ...stored,
      order: null,
      is_sample: false,
      dashboards: tiles.map(({ dashboard_id }) => dashboard_id),
      dashboard_tiles: tiles.map((tile) => ({ ...tile, deleted: false })),
      created_by: nameAuthor(insight.created_by),
      last_modified_by: nameAuthor(insight.last_modified_by),
      updated_at: insight.last_modified_at,
      effective_restriction_level: 21,
      effective_privilege_level: 37,
      timezone: project.timezone,
      ...result,
    }
  }
}
