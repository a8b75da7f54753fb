/** What narrows every series of a query: its properties, the project's own people, its sample. */
import type { PropertyFilters } from '../contract/insights/parts.ts'
import type { Expr, JoinExpr } from '../hogql/ast.ts'
import { and, constant, field, joinOf, NOWHERE } from '../hogql/nodes.ts'
import { filterCondition } from './filters/property-filters.ts'
import type { InsightContext } from './insight.ts'

/** What of a query narrows all its events. */
export type SeriesConditions = {
  readonly properties?: PropertyFilters | null | undefined
  readonly filterTestAccounts?: boolean | null | undefined
  readonly samplingFactor?: number | null | undefined
}

/** The conditions of the whole query on an event; null when it asks about all of them. */
export function queryCondition(
  query: SeriesConditions,
  context: InsightContext,
  prefix: readonly string[] = [],
): Expr | null {
  const properties = { ...context, prefix, attr: 'query__properties' }
  const conditions = [
    filterCondition(query.properties, properties),
    query.filterTestAccounts === true
      ? filterCondition(context.test_account_filters, {
          ...properties,
          attr: 'test_account_filters',
        })
      : null,
  ]
  return and(conditions.filter((condition) => condition !== null))
}

/** All of several conditions, null ones left out; true when there are none. */
export function allOf(...conditions: readonly (Expr | null)[]): Expr {
  return and(conditions.filter((condition) => condition !== null)) ?? constant(true)
}

/** `events`, or the sample of users that the query is about: whole users, always the same ones. */
export function eventsOf({ samplingFactor }: SeriesConditions): JoinExpr {
  const events = joinOf(field(['events']))
  if (!isSampled(samplingFactor)) return events
  const left = constant(samplingFactor)
  const sample_value = { kind: 'RatioExpr' as const, ...NOWHERE, left, right: null }
  return {
    ...events,
    sample: { kind: 'SampleExpr', ...NOWHERE, sample_value, offset_value: null },
  }
}

/** A count of the sample as one of all users. Averages and the like are not to be scaled. */
export function scaleSample(count: number, { samplingFactor }: SeriesConditions): number {
  return isSampled(samplingFactor) ? Math.round(count / samplingFactor) : count
}

const isSampled = (factor: number | null | undefined): factor is number =>
  factor !== null && factor !== undefined && factor !== 1
