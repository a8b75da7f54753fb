/** Insights computed without being saved, from legacy filters: `insights/trend/` and its siblings. */

import {
  DirectInsightAnswer,
  DirectInsightBody,
  DirectInsightQuery,
} from '../../../contract/analytics/dashboards.ts'
import { legacyCorrelationQuery } from '../../../insights/legacy/legacy-actors.ts'
import { type LegacyParameters, legacyText } from '../../../insights/legacy/legacy-filters.ts'
import { legacyInsightQuery } from '../../../insights/legacy/legacy-insights.ts'
import { answerJsonWithRaw } from '../../answers/answers.ts'
import { queryValues } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { projectRoute, type Route } from '../../route.ts'
import { prepareSaved } from '../queries/query.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { refreshByName, runPrepared } from './insight-results.ts'

const BODY = validatorOf(DirectInsightBody)

type ReadLegacyFilters = (input: LegacyParameters) => object

/** The routes: the path, and how its filters become a query. A line adds a path. */
const LEGACY_ROUTES: readonly (readonly [path: string, read: ReadLegacyFilters])[] = [
  ['trend', insightIn('TRENDS', 'STICKINESS', 'LIFECYCLE')],
  ['funnel', insightIn('FUNNELS')],
  ['funnel/correlation', legacyCorrelationQuery],
  ['retention', insightIn('RETENTION')],
  ['path', insightIn('PATHS')],
]

/** Reads one of some insights; the first is the default. */
function insightIn(...insights: readonly string[]): ReadLegacyFilters {
  return (input) => {
    const insight = insights.find((name) => name === input['insight']) ?? insights[0]
    return legacyInsightQuery({ ...input, insight })
  }
}

export const DIRECT_INSIGHT_ROUTES = LEGACY_ROUTES.flatMap(([path, read]): readonly Route[] => {
  const declared = {
    path: `insights/${path}/`,
    scope: 'insight:read',
    summary: `Compute a ${path} from legacy filters, without saving it.`,
    query: DirectInsightQuery,
    answers: { 200: DirectInsightAnswer },
  } as const
  return [
    projectRoute({
      ...declared,
      method: 'GET',
      answer: (app, call) => askDirectly(app, call, read, queryValues(call.request)),
    }),
    projectRoute({
      ...declared,
      method: 'POST',
      body: BODY,
      answer: (app, call) =>
        askDirectly(app, call, read, { ...queryValues(call.request), ...call.body }),
    }),
  ]
})

async function askDirectly(
  app: AppContext,
  call: QueryCall,
  read: ReadLegacyFilters,
  input: LegacyParameters,
): Promise<Response> {
  const mode = refreshByName(
    input['refresh'] === true ? 'true' : (legacyText(input, 'refresh') ?? ''),
    'blocking',
  )
  const prepared = prepareSaved(app, call, read(input))
  const result = await runPrepared(app, call, prepared, mode)
  return answerJsonWithRaw({ ...result, timezone: call.project.timezone, next: null })
}
