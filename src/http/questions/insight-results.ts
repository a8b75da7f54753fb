/** Saved insights with their results: asked like any question, and told as cached answers are. */
import type { Insight } from '../../boards/insight.ts'
import { readPlaces } from '../../boards/tile.ts'
import { REFRESH_MODES } from '../../contract/query.ts'
import { Refusal } from '../../errors.ts'
import { isMembers, jsonOf } from '../../insights/old-filters.ts'
import { questionOfFilters } from '../../insights/old-insights.ts'
import type { Project } from '../../projects/project.ts'
import { isShown, rightsAt } from '../../projects/rights.ts'
import type { Json } from '../../projects/tables.ts'
import type { Prepared } from '../../query/prepared.ts'
import type { RefreshMode } from '../../query/refresh.ts'
import { IDLE_TIMEOUT_S, type Socket } from '../endpoint.ts'
import type { Needs } from '../needs.ts'
import { queryValue, queryValues } from '../pages.ts'
import { authorNamer } from '../targeting/authors.ts'
import type { Asks } from './asking.ts'
import { prepareSaved } from './query.ts'

/** What is told of an insight's answer. */
export type InsightResult = {
  readonly result: unknown
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

/** Nothing was asked. */
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

export type ResultAsked = {
  readonly mode: RefreshMode
  /** What a dashboard says of all that stands on it. */
  readonly overrides?: { readonly filters: Json; readonly variables: Json }
}

export type InsightCall = Asks & {
  readonly request: Request
  readonly socket: Socket
}

/** How fresh results have to be, by the `refresh` of a request: without it nothing is computed. Refuses other words. */
export function refreshAsked(request: Request): RefreshMode {
  return refreshNamed(queryValue(request, 'refresh') ?? '', 'force_cache')
}

/** How fresh results have to be; without a word as `fallback` says. Refuses other words. */
export function refreshNamed(wanted: string, fallback: RefreshMode): RefreshMode {
  if (wanted === '' || wanted === 'false') return fallback
  if (wanted === 'true') return 'force_blocking'
  const mode = REFRESH_MODES.find((one) => one === wanted)
  if (mode !== undefined) return mode
  const detail = `${JSON.stringify(wanted.slice(0, 100))} is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr: 'refresh' })
}

/** What a request says instead of what is stored: JSON in its address. Refuses what is no object, naming the parameter. */
export function overridesIn(request: Request): {
  readonly filters: Json
  readonly variables: Json
} {
  const sent = queryValues(request)
  const read = (name: string): Json => {
    const value = jsonOf(sent, name) ?? {}
    if (isMembers(value)) return value as Json
    throw new Refusal('invalid_input', 'Must be a JSON object.', { attr: name })
  }
  return { filters: read('filters_override'), variables: read('variables_override') }
}

/**
 * The answer to an insight's query, or to its filters of before there were queries; members who may not ask are told so in
 * its place, and still read what is saved. Refuses what the query endpoint refuses.
 */
export async function askInsight(
  needs: Needs,
  call: InsightCall,
  { query, filters }: Insight,
  { mode, overrides }: ResultAsked,
): Promise<InsightResult> {
  if (query === null && isEmpty(filters)) return NO_RESULT
  if (!isShown(rightsAt(needs.control, call.asker, call), 'insight.result')) return failed(HIDDEN)
  const prepared =
    query === null
      ? orRefusal(() => prepareSaved(needs, call, questionOfFilters(Object(filters)), overrides))
      : prepareSaved(needs, call, query, overrides)
  return prepared instanceof Refusal ? failed(prepared) : askPrepared(needs, call, prepared, mode)
}

const HIDDEN = new Refusal('permission_denied', 'You do not have viewer access to query.')

/** The answer to a question, as insights tell it. */
export async function askPrepared(
  needs: Needs,
  { asker, request, socket }: InsightCall,
  prepared: Prepared,
  mode: RefreshMode,
): Promise<InsightResult> {
  const leave = needs.key_limits.enter(asker.id)
  // A question may take longer than a silent connection is kept.
  socket?.timeout(request, 0)
  try {
    const asked = { mode, client_query_id: null, signal: request.signal }
    const body = await needs.questions.ask(prepared, asked)
    const answer: Readonly<Record<string, unknown>> = JSON.parse(new TextDecoder().decode(body))
    return {
      result: answer['results'] ?? null,
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
  } finally {
    socket?.timeout(request, IDLE_TIMEOUT_S)
    leave()
  }
}

const isEmpty = (filters: Json): boolean => Object.keys(Object(filters)).length === 0

/** The same for one of many: what is refused is told in its place. */
export async function tryInsight(...asked: Parameters<typeof askInsight>): Promise<InsightResult> {
  try {
    return await askInsight(...asked)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'throttled') throw error
    return failed(error)
  }
}

/** Filters are kept whatever they say: reading them is never refused. */
function orRefusal(prepare: () => Prepared): Prepared | Refusal {
  try {
    return prepare()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function failed({ detail }: Refusal): InsightResult {
  return { ...NO_RESULT, query_status: { error: true, error_message: detail } }
}

/** Shows insights of one project during one request. */
export function insightShower(
  needs: Needs,
  project: Project,
): (insight: Insight, result: InsightResult) => object {
  const nameAuthor = authorNamer(needs)
  const places = readPlaces(needs.control, project.id)
  return (insight, result) => {
    const { project_id: _project, ...stored } = insight
    const tiles = places(insight.id)
    return {
      ...stored,
      derived_name: null,
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
