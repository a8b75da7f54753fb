/** FunnelsQuery: how many actors take steps in order, how fast, and over time. */
import type { FunnelsFilter, FunnelsQuery } from '../../contract/insights/funnels.ts'
import { firstEvent, freshnessOf, readRange, resolvedRange } from '../dates/date-range.ts'
import type { InsightAnswer, InsightKind, RunTree } from '../insight.ts'
import { withBins } from './bins.ts'
import { type Funnel, readFunnel } from './definition.ts'
import { answerSteps } from './steps.ts'
import { answerTimeToConvert } from './time-to-convert.ts'
import { answerTrends } from './trends.ts'

type FunnelView = NonNullable<FunnelsFilter['funnelVizType']>
type FunnelAnswer = (funnel: Funnel, run: RunTree) => Promise<InsightAnswer>

/** A line per view. */
const VIEWS: Readonly<Record<FunnelView, FunnelAnswer>> = {
  steps: answerSteps,
  time_to_convert: answerTimeToConvert,
  trends: answerTrends,
}

/**
 * Steps, times to convert, or conversion by day. The `hogql` of the answer calls functions made for
 * it (`actor_timeline`, `funnel_steps`), which a text may call too.
 */
export const FUNNELS: InsightKind<FunnelsQuery> = {
  rangeOf: (query, dates) => freshnessOf(readRange(query, dates)),
  answer: async (query, context, run) => {
    const read = readFunnel(query, context, await firstEvent(query, run))
    const funnel = await withBins(read, run)
    const answer = await VIEWS[query.funnelsFilter?.funnelVizType ?? 'steps'](funnel, run)
    return { ...answer, metadata: { resolved_date_range: resolvedRange(funnel.range) } }
  },
}
