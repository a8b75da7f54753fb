/**
 * Taxonomy queries, for query editors: the project's events, their properties, and values of
 * actors' properties.
 */
import type {
  ActorsPropertyTaxonomyQuery,
  EventTaxonomyQuery,
  TeamTaxonomyQuery,
} from '../contract/insights/taxonomy.ts'
import { refuseMember } from '../errors.ts'
import type { Expr } from '../hogql/syntax/ast.ts'
import { and, call, compare, constant, field, integer } from '../hogql/syntax/nodes.ts'
import { expr, select } from '../hogql/template.ts'
import type { InsightContext, InsightKind, RunTree } from './insight.ts'
import { queryPage, readRowPage } from './page.ts'

/** Days looked back. */
const DAYS = 30n

/** Maximum events read per name, the newest: reading whole properties is expensive. */
const EVENTS_MAX = 2000

/** Default number of values per property. */
const VALUES_DEFAULT = 5

/** Values are examples: longer ones are cut. */
const VALUE_LENGTH_MAX = 128

const recently = expr`timestamp >= now() - toIntervalDay(${constant(DAYS)})`

const range = () => ({ interval: 'day', ends_at_ms: null }) as const

/** Rows `{event, count}`, the most frequent first. */
export const TEAM_TAXONOMY: InsightKind<TeamTaxonomyQuery> = {
  rangeOf: range,
  answer: async (query, context, run) => {
    const page = readRowPage(query, context)
    const tree = select`select event, count() as count from events where ${recently}
      group by event order by count desc, event`
    const { rows, hogql, has_more } = await queryPage(tree, page, {
      run,
      rows_max: context.rows_max,
    })
    const results = rows.map(([event, count]) => ({ event, count: Number(count) }))
    return { results, hogql, metadata: { hasMore: has_more, ...page } }
  },
}

/** Rows `{property, sample_values, sample_count}`, the properties with the most values first. */
export const EVENT_TAXONOMY: InsightKind<EventTaxonomyQuery> = {
  rangeOf: range,
  answer: async (query, _context, run) => {
    const { rows, hogql } = await run({
      ...select`select properties from events order by timestamp desc`,
      where: and([recently, eventCondition(query)]),
      limit: integer(EVENTS_MAX),
    })
    const counts = countValues(rows.map(([properties]) => JSON.parse(String(properties))))
    const allowed = query.properties?.length ? new Set(query.properties) : null
    const results = [...counts]
      .filter(([property]) => allowed?.has(property) ?? isInformative(property))
      .map(([property, values]) => ({
        property,
        ...sampleOf(values, query.maxPropertyValues ?? VALUES_DEFAULT),
      }))
      .toSorted((a, b) => b.sample_count - a.sample_count || compareTexts(a.property, b.property))
    return { results, hogql }
  },
}

function eventCondition({ event, actionId }: EventTaxonomyQuery): Expr {
  if (actionId) return call('matchesAction', [integer(actionId)])
  if (event) return compare(field(['event']), '==', constant(event))
  throw refuseMember('Name an event or an action.', 'query__event')
}

/** Excludes properties that events copy from their person or that describe the transport. */
const isInformative = (property: string): boolean =>
  !/^(\$(set|set_once|unset|initial_.*|groups|group_\d|ip|time|insert_id|sent_at)|distinct_id|token)$/.test(
    property,
  )

type TaxonomyValues = ReadonlyMap<string, number>

/** Counts of each property's values; missing, null and nested values do not count. */
function countValues(events: readonly unknown[]): ReadonlyMap<string, TaxonomyValues> {
  const counts = new Map<string, Map<string, number>>()
  for (const properties of events) {
    if (typeof properties !== 'object' || properties === null) continue
    for (const [property, value] of Object.entries(properties)) {
      const text = textOf(value)
      if (text === null) continue
      const values = counts.get(property) ?? new Map<string, number>()
      counts.set(property, values.set(text, (values.get(text) ?? 0) + 1))
    }
  }
  return counts
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value !== '' ? cutValue(value) : null
}

/** Cuts by characters, not UTF-16 units, so that none is split. */
const cutValue = (text: string): string =>
  Array.from(text.slice(0, 2 * VALUE_LENGTH_MAX))
    .slice(0, VALUE_LENGTH_MAX)
    .join('')

function sampleOf(values: TaxonomyValues, count: number) {
  const most = [...values].toSorted(([a, m], [b, n]) => n - m || compareTexts(a, b))
  return {
    sample_values: most.slice(0, count).map(([value]) => value),
    sample_count: values.size,
  }
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Rows `{sample_values, sample_count}`, one per property in the order of the query. */
export const ACTORS_PROPERTY_TAXONOMY: InsightKind<ActorsPropertyTaxonomyQuery> = {
  rangeOf: range,
  answer: async (query, context, run) => {
    const results: object[] = []
    for (const property of query.properties) {
      results.push(await sampleActors(property, query, { run, context }))
    }
    return { results, hogql: null }
  },
}

type TaxonomyRequest = { readonly run: RunTree; readonly context: InsightContext }

async function sampleActors(
  property: string,
  { groupTypeIndex, maxPropertyValues }: ActorsPropertyTaxonomyQuery,
  { run }: TaxonomyRequest,
): Promise<object> {
  const index = groupTypeIndex ?? null
  const value = expr`substring(toString(${field(['properties', property])}), 1, ${integer(VALUE_LENGTH_MAX)})`
  const counts =
    index === null
      ? select`select ${value} as value, count() as count from persons group by value`
      : select`select ${value} as value, count() as count from groups
          where index = ${integer(index)} group by value`
  const sample = select`select value, count() over () as values from ${counts}
    where notEmpty(value) order by count desc, value`
  const values_max = integer(maxPropertyValues ?? VALUES_DEFAULT)
  const { rows } = await run({ ...sample, limit: values_max })
  return { sample_values: rows.map(([one]) => one), sample_count: Number(rows[0]?.[1] ?? 0) }
}
