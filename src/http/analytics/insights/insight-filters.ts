/** FILTERS of lists of insights: the parameter, and a condition or predicate for its value. */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { isOneOf } from '../../../dashboards/board-editor.ts'
import {
  type InsightHead,
  insightHeadReader,
  insightReader,
  listInsightIds,
  type SavedInsight,
} from '../../../dashboards/insight.ts'
import { insights } from '../../../dashboards/tables.ts'
import { isOnDashboard, readTilesOfInsights } from '../../../dashboards/tile.ts'
import { type DateContext, readDate } from '../../../insights/dates/dates.ts'
import { isYes, legacyBoolean, listOf } from '../../../insights/legacy/legacy-filters.ts'
import { isObject } from '../../../json.ts'
import { readOneByOne } from '../../../threads/sliced-json.ts'
import { queryValues, requireSearch } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'

/** An insight in a list; `dashboards`, `events` and `type` are read only for requests that filter by them. */
type ListedInsight = InsightHead & {
  readonly dashboards: () => readonly number[]
  readonly events: () => ReadonlySet<string>
  readonly type: () => unknown
}

/** The caller, and the clock and time zone for relative dates. */
type ListContext = DateContext & { readonly user_id: number; readonly project_id: number }

type InsightListParams = Readonly<Record<string, string>>
/** A condition of the query for ids, or else a predicate, for which every insight is read. */
type InsightFilter = SQL | ((insight: ListedInsight) => boolean)
type MakeInsightFilter = (
  input: InsightListParams,
  name: string,
  context: ListContext,
) => InsightFilter

/** The filter of each parameter of a list. Adding a parameter means adding a line. */
const FILTERS: Readonly<Record<string, MakeInsightFilter>> = {
  search: (input, name) => {
    const search_text = requireSearch(input[name] ?? '').toLowerCase()
    return ({ name: own, description, tags }) =>
      [own ?? '', description, ...tags].join('\n').toLowerCase().includes(search_text)
  },
  short_id: (input, name) => eq(insights.short_id, input[name] ?? ''),
  /** An insight on a dashboard counts as saved too. */
  saved: (input, name, { project_id }) => {
    const is_saved = eq(insights.saved, isYes(input[name]))
    return isYes(input[name]) ? sql`(${is_saved} or ${isOnDashboard(project_id)})` : is_saved
  },
  favorited: (input, name) => eq(insights.favorited, isYes(input[name])),
  dashboard: (input, name, { project_id }) => isOnDashboard(project_id, Number(input[name])),
  dashboards: (input, name) => {
    const wanted = new Set(listOf(input, name).map(Number))
    return (insight) => wanted.isSubsetOf(new Set(insight.dashboards()))
  },
  events: (input, name) => {
    const wanted = new Set(listOf(input, name).map(String))
    return (insight) => wanted.isSubsetOf(insight.events())
  },
  tags: (input, name) => {
    const allowed = new Set(listOf(input, name))
    return ({ tags }) => tags.some((tag) => allowed.has(tag))
  },
  /** Accepts one id or a list of ids. */
  created_by: (input, name) => {
    const text = input[name] ?? ''
    const allowed = text.startsWith('[') ? listOf(input, name).map(Number) : [Number(text)]
    return isOneOf(insights.created_by, allowed)
  },
  /** Keeps the caller's own insights. */
  user: (input, name, { user_id }) =>
    legacyBoolean(input, name) ? eq(insights.created_by, user_id) : sql`true`,
  insight: (input, name) => (insight) => insight.type() === input[name],
  date_from: after('last_modified_at'),
  date_to: before('last_modified_at'),
  created_date_from: after('created_at'),
  created_date_to: before('created_at'),
}

/**
 * Returns the ids of the insights that a request lists. Refuses malformed lists and dates, naming the parameter. The
 * insights of a project, 20,000 at most, are read only where a predicate needs them: that takes 200 ms, and their ids 4.
 */
export async function findInsights(
  { control }: Pick<AppContext, 'control'>,
  request: Request,
  context: ListContext,
): Promise<readonly number[]> {
  const input = queryValues(request)
  const filters = Object.entries(FILTERS).flatMap(([name, makeFilter]) =>
    (input[name] ?? '') === '' ? [] : [makeFilter(input, name, context)],
  )
  const conditions = filters.filter((filter) => typeof filter !== 'function')
  const predicates = filters.filter((filter) => typeof filter === 'function')
  const ids = listInsightIds(control, context.project_id, and(...conditions))
  if (predicates.length === 0) return ids
  const readListed = listedReader(control, context.project_id)
  return readOneByOne(ids, (id) => {
    const insight = readListed(id)
    return insight !== undefined && predicates.every((is) => is(insight)) ? id : undefined
  })
}

function listedReader(
  db: AppContext['control'],
  project_id: number,
): (id: number) => ListedInsight | undefined {
  const readHead = insightHeadReader(db)
  const readWhole = insightReader(db)
  const readTiles = readTilesOfInsights(db, project_id)
  return (id) => {
    const head = readHead(id)
    return (
      head && {
        ...head,
        dashboards: () => readTiles(id).map(({ dashboard_id }) => dashboard_id),
        events: () => eventsOfInsight(readWhole(id) ?? NO_QUERY),
        type: () => typeOfInsight(readWhole(id) ?? NO_QUERY),
      }
    )
  }
}

const NO_QUERY = { query: null, filters: null }

function after(member: 'created_at' | 'last_modified_at'): MakeInsightFilter {
  return (input, name, context) => {
    const from_us = readDate(input[name] ?? '', context, name)
    return (insight) => BigInt(insight[member].getTime()) * 1000n >= from_us
  }
}

function before(member: 'created_at' | 'last_modified_at'): MakeInsightFilter {
  return (input, name, context) => {
    const to_us = readDate(input[name] ?? '', context, name)
    return (insight) => BigInt(insight[member].getTime()) * 1000n <= to_us
  }
}

/** The type by query kind, in the words of the list's parameter. */
const TYPES: ReadonlyMap<unknown, string> = new Map([
  ['FunnelsQuery', 'FUNNELS'],
  ['HogQLQuery', 'SQL'],
  ['LifecycleQuery', 'LIFECYCLE'],
  ['PathsQuery', 'PATHS'],
  ['RetentionQuery', 'RETENTION'],
  ['StickinessQuery', 'STICKINESS'],
  ['TrendsQuery', 'TRENDS'],
])

/** Returns the type of an insight, from its unwrapped query or from its legacy filters. */
function typeOfInsight({ query, filters }: Pick<SavedInsight, 'filters' | 'query'>): unknown {
  if (query === null) return isObject(filters) ? (filters['insight'] ?? 'TRENDS') : null
  const requested = isObject(query) && isObject(query['source']) ? query['source'] : query
  return TYPES.get(isObject(requested) ? requested['kind'] : null) ?? 'JSON'
}

/**
 * Returns the events that an insight counts: those of its series, steps and retention, not those that its SQL or its
 * actions name. A loop, since stored queries may be nested deeply.
 */
function eventsOfInsight({
  query,
  filters,
}: Pick<SavedInsight, 'filters' | 'query'>): ReadonlySet<string> {
  const events = new Set<unknown>()
  const values: unknown[] = [query ?? filters]
  for (const value of values) {
    if (typeof value !== 'object' || value === null) continue
    for (const inner of Object.values(value)) values.push(inner)
    if (!isObject(value)) continue
    if (value['kind'] === 'EventsNode') events.add(value['event'])
    // Entities of retention and of legacy filters; those in a list of events need no type.
    if (value['type'] === 'events') events.add(value['id'])
    const listed = Array.isArray(value['events']) ? value['events'] : []
    for (const entity of listed) if (isObject(entity)) events.add(entity['id'])
  }
  return new Set([...events].filter((name) => typeof name === 'string'))
}
