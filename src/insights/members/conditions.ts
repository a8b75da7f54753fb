/** Conditions on all series of a query: its properties, the test account filters, its sample. */
import type { PropertyFilters } from '../../contract/insights/parts.ts'
import type { Expr, JoinExpr } from '../../hogql/syntax/ast.ts'
import { and, constant, field, joinOf, NOWHERE } from '../../hogql/syntax/nodes.ts'
import { filterCondition } from '../filters/property-filters.ts'
import type { InsightContext } from '../insight.ts'

/** The members of a query that filter all its events. */
export type SeriesConditions = {
  readonly properties?: PropertyFilters | null | undefined
  readonly filterTestAccounts?: boolean | null | undefined
  readonly samplingFactor?: number | null | undefined
}

/** The query's conditions on an event; null when it has none. */
export function queryCondition(query: SeriesConditions, context: InsightContext): Expr | null {
  const properties = { ...context, prefix: [], attr: 'query__properties' }
  const conditions = [
    filterCondition(query.properties, properties),
    query.filterTestAccounts === true
      ? filterCondition(context.test_account_filters, {
          ...properties,
          attr: 'test_account_filters',
        })
      : null,
  ]
  return and(conditions)
}

/** The conjunction of conditions, nulls omitted; true when there are none. */
export function allOf(...conditions: readonly (Expr | null)[]): Expr {
  return and(conditions) ?? constant(true)
}

/** `events`, or its sample: the same users each time, each of them whole. */
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

/** A count scaled up from the sample. Averages and the like must not be scaled. */
export function scaleSample(count: number, { samplingFactor }: SeriesConditions): number {
  return isSampled(samplingFactor) ? Math.round(count / samplingFactor) : count
}

const isSampled = (factor: number | null | undefined): factor is number =>
  factor !== null && factor !== undefined && factor !== 1
