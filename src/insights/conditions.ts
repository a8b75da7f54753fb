/** What narrows every series of a question: its properties, the project's own people, its sample. */
import type { PropertyFilters } from '../contract/insights/parts.ts'
import type { Expr } from '../hogql/ast.ts'
import type { JoinExpr } from '../hogql/ast-parts.ts'
import { and, constant, field, joinOf, NOWHERE } from '../hogql/nodes.ts'
import { filterCondition } from './filters/property-filters.ts'
import type { InsightContext } from './insight.ts'

/** What of a question narrows all its events. */
export type Narrowed = {
  readonly properties?: PropertyFilters | null | undefined
  readonly filterTestAccounts?: boolean | null | undefined
  readonly samplingFactor?: number | null | undefined
}

/** The conditions of the whole question on an event; null when it asks about all of them. */
export function questionCondition(
  question: Narrowed,
  context: InsightContext,
  prefix: readonly string[] = [],
): Expr | null {
  const properties = { ...context, prefix, attr: 'query__properties' }
  const conditions = [
    filterCondition(question.properties, properties),
    question.filterTestAccounts === true
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

/** `events`, or the sample of users that the question is about: whole users, always the same ones. */
export function eventsOf({ samplingFactor }: Narrowed): JoinExpr {
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
export function scaled(count: number, { samplingFactor }: Narrowed): number {
  return isSampled(samplingFactor) ? Math.round(count / samplingFactor) : count
}

const isSampled = (factor: number | null | undefined): factor is number =>
  factor !== null && factor !== undefined && factor !== 1
