/** Insights computed without being saved, from legacy filters: `insights/trend/` and its siblings. */
import {
  DirectInsightAnswer,
  DirectInsightBody,
  DirectInsightQuery,
} from '../../contract/analytics/dashboards.ts'
import { type LegacyParameters, legacyText } from '../../insights/legacy-filters.ts'
import { legacyInsightQuery } from '../../insights/legacy-insights.ts'
import { answerJsonWithRaw } from '../answers.ts'
import type { AppContext } from '../app-context.ts'
import { queryValues } from '../pages.ts'
import { projectRoute, type Route } from '../route.ts'
import { validatorOf } from '../shape.ts'
import { type InsightCall, refreshByName, runPrepared } from './insight-results.ts'
import { prepareSaved } from './query.ts'

const BODY = validatorOf(DirectInsightBody)

/** The routes: the path, and the values of `insight` that it accepts; the first is the default. */
const LEGACY_ROUTES: readonly (readonly [path: string, insights: readonly string[]])[] = [
  ['trend', ['TRENDS', 'STICKINESS', 'LIFECYCLE']],
  ['funnel', ['FUNNELS']],
  ['retention', ['RETENTION']],
  ['path', ['PATHS']],
]

export const DIRECT_INSIGHT_ROUTES = LEGACY_ROUTES.flatMap(([path, insights]): readonly Route[] => {
  const declared = {
    path: `insights/${path}/`,
    scope: 'insight:read',
    summary: `Ask for a ${path} that nobody saved, by old filters.`,
    query: DirectInsightQuery,
    answers: { 200: DirectInsightAnswer },
  } as const
  return [
    projectRoute({
      ...declared,
      method: 'GET',
      answer: (app, call) => askDirectly(app, call, insights, queryValues(call.request)),
    }),
    projectRoute({
      ...declared,
      method: 'POST',
      body: BODY,
      answer: (app, call) =>
        askDirectly(app, call, insights, { ...queryValues(call.request), ...call.body }),
    }),
  ]
})

async function askDirectly(
  app: AppContext,
  call: InsightCall,
  insights: readonly string[],
  input: LegacyParameters,
): Promise<Response> {
  const insight = insights.find((name) => name === input['insight']) ?? insights[0]
  const mode = refreshByName(
    input['refresh'] === true ? 'true' : (legacyText(input, 'refresh') ?? ''),
    'blocking',
  )
  const prepared = prepareSaved(app, call, legacyInsightQuery({ ...input, insight }))
  const result = await runPrepared(app, call, prepared, mode)
  return answerJsonWithRaw({ ...result, timezone: call.project.timezone, next: null })
}
