/** FunnelsQuery: who takes some steps in order, how many, how fast, and when. */
import type { FunnelsFilter, FunnelsQuery } from '../contract/insights/funnels.ts'
import { firstEvent, freshnessOf, readRange, resolvedRange } from './date-range.ts'
import { withBins } from './funnels/bins.ts'
import { type Funnel, readFunnel } from './funnels/definition.ts'
import { answerSteps } from './funnels/steps.ts'
import { answerTimeToConvert } from './funnels/time-to-convert.ts'
import { answerTrends } from './funnels/trends.ts'
import type { InsightAnswer, InsightKind, RunTree } from './insight.ts'

type FunnelView = NonNullable<FunnelsFilter['funnelVizType']>
type FunnelAnswer = (funnel: Funnel, ask: RunTree) => Promise<InsightAnswer>

/** One line per view. */
const VIEWS: Readonly<Record<FunnelView, FunnelAnswer>> = {
  steps: answerSteps,
  time_to_convert: answerTimeToConvert,
  trends: answerTrends,
}

/**
 * Steps, times to convert or a line of days. `hogql` tells how it was asked, with the names of functions that only this
 * program has (`actor_timeline`, `funnel_steps`): to be read, not to be asked again.
 */
export const FUNNELS: InsightKind<FunnelsQuery> = {
  rangeOf: (query, dates) => freshnessOf(readRange(query, dates)),
  answer: async (query, context, ask) => {
    const read = readFunnel(query, context, await firstEvent(query, ask))
    const funnel = await withBins(read, ask)
    const answer = await VIEWS[query.funnelsFilter?.funnelVizType ?? 'steps'](funnel, ask)
    return { ...answer, said: { resolved_date_range: resolvedRange(funnel.range) } }
  },
}
