/** WebOverviewQuery: visitors, views, sessions, session duration and bounce rate. */
import type { WebOverviewQuery } from '../../contract/insights/web.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { alias } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { freshnessOf, isoLocal, sinceFirstEvent } from '../dates/date-range.ts'
import type { InsightContext, InsightKind } from '../insight.ts'
import { samplingRateOf, scaledCount } from './sampling.ts'
import {
  convertedPersons,
  goalCondition,
  goals,
  periodsOf,
  TIMES,
  views,
  visitsTree,
  type WebPeriod,
  type WebPeriods,
  wasVisited,
} from './sessions.ts'

/** One figure: its key, its unit, and its aggregate over the sessions of a period. */
type OverviewFigure = {
  readonly key: string
  readonly kind: 'duration_s' | 'percentage' | 'unit'
  readonly isIncreaseBad?: true
  readonly of: (visits: Expr, time: WebPeriod) => Expr
}

const visitors = {
  key: 'visitors',
  kind: 'unit',
  of: (visits: Expr) => expr`uniqIf(visitor, ${visits})`,
} as const

/** Figures without a conversion goal, in order. */
const FIGURES: readonly OverviewFigure[] = [
  visitors,
  { key: 'views', kind: 'unit', of: (visits, time) => expr`sumIf(${views(time)}, ${visits})` },
  { key: 'sessions', kind: 'unit', of: (visits) => expr`countIf(${visits})` },
  { key: 'session duration', kind: 'duration_s', of: (visits) => expr`avgIf(duration, ${visits})` },
  {
    key: 'bounce rate',
    kind: 'percentage',
    isIncreaseBad: true,
    of: (visits) => expr`avgIf(bounced, ${visits}) * 100`,
  },
]

/** Figures with a conversion goal. */
const GOAL_FIGURES: readonly OverviewFigure[] = [
  visitors,
  {
    key: 'total conversions',
    kind: 'unit',
    of: (visits, time) => expr`sumIf(${goals(time)}, ${visits})`,
  },
  { key: 'unique conversions', kind: 'unit', of: convertedPersons },
  {
    key: 'conversion rate',
    kind: 'percentage',
    of: (visits, time) =>
      expr`${convertedPersons(visits, time)} * 100 / nullIf(uniqIf(visitor, ${visits}), 0)`,
  },
]

export const WEB_OVERVIEW: InsightKind<WebOverviewQuery> = {
  rangeOf: (query, dates) => freshnessOf(periodsOf(query, dates).current),
  answer: async (input, context, run) => {
    const query = await sinceFirstEvent(input, context, run)
    const periods = periodsOf(query, context)
    const figures = goalCondition(query, context) === null ? FIGURES : GOAL_FIGURES
    const { rows, hogql } = await run(overviewTree(query, context, { periods, figures }))
    const [row = []] = rows
    return {
      results: figures.map((figure, index) => {
        const read = (cell: unknown): number | null =>
          numberOf(figure.kind === 'unit' ? scaledCount(cell, query) : cell)
        const value = read(row[index * 2])
        const previous = periods.previous === null ? null : read(row[index * 2 + 1])
        return {
          key: figure.key,
          kind: figure.kind,
          value,
          previous,
          changeFromPreviousPct: changePct(value, previous),
          ...(figure.isIncreaseBad === undefined ? {} : { isIncreaseBad: true }),
        }
      }),
      hogql,
      metadata: {
        samplingRate: samplingRateOf(query),
        dateFrom: isoLocal(periods.current.from_us, context),
        dateTo: isoLocal(periods.current.to_us, context),
        usedPreAggregatedTables: false,
      },
    }
  },
}

type OverviewItem = { readonly periods: WebPeriods; readonly figures: readonly OverviewFigure[] }

function overviewTree(
  query: WebOverviewQuery,
  context: InsightContext,
  { periods, figures }: OverviewItem,
) {
  const sessions = visitsTree(query, context, {
    split: null,
    more: [expr`session.$session_duration as duration`, expr`session.$is_bounce as bounced`],
  })
  const columns = figures.flatMap(({ of }, index) =>
    TIMES.map((time) => alias(of(wasVisited(periods, time), time), `figure_${index}_${time}`)),
  )
  return select`select ${columns} from ${sessions}`
}

/** Figures over no sessions are null. */
const numberOf = (value: unknown): number | null =>
  value === null || value === undefined ? null : Number(value)

/** The change in whole percent. */
function changePct(value: number | null, previous: number | null): number | null {
  if (value === null || previous === null || previous === 0) return null
  return Math.round(((value - previous) / previous) * 100)
}
