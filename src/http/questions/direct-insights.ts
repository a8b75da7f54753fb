/** Insights asked without being saved, in the words of before there were kinds: `insights/trend/` and its like (wire §4.10). */
import {
  DirectInsightAnswer,
  DirectInsightBody,
  DirectInsightQuery,
} from '../../contract/boards.ts'
import { type Parameters, textOf } from '../../insights/old-filters.ts'
import { questionOfFilters } from '../../insights/old-insights.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { queryValues } from '../pages.ts'
import { projectRoute, type Route } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { askPrepared, type InsightCall, refreshNamed } from './insight-results.ts'
import { prepareSaved } from './query.ts'

const BODY = shapeOf(DirectInsightBody)

/** Where each is asked, and the insights it may be: the first unless another is named. */
const PLACES: readonly (readonly [path: string, insights: readonly string[]])[] = [
  ['trend', ['TRENDS', 'STICKINESS', 'LIFECYCLE']],
  ['funnel', ['FUNNELS']],
  ['retention', ['RETENTION']],
  ['path', ['PATHS']],
]

export const DIRECT_INSIGHT_ROUTES = PLACES.flatMap(([path, insights]): readonly Route[] => {
  const declared = {
    path: `insights/${path}/`,
    scope: 'insight:read',
    says: `Ask for a ${path} that nobody saved, by old filters.`,
    query: DirectInsightQuery,
    answers: { 200: DirectInsightAnswer },
  } as const
  return [
    projectRoute({
      ...declared,
      method: 'GET',
      answer: (needs, call) => askDirectly(needs, call, insights, queryValues(call.request)),
    }),
    projectRoute({
      ...declared,
      method: 'POST',
      body: BODY,
      answer: (needs, call) =>
        askDirectly(needs, call, insights, { ...queryValues(call.request), ...call.body }),
    }),
  ]
})

async function askDirectly(
  needs: Needs,
  call: InsightCall,
  insights: readonly string[],
  sent: Parameters,
): Promise<Response> {
  const insight = insights.find((name) => name === sent['insight']) ?? insights[0]
  const mode = refreshNamed(
    sent['refresh'] === true ? 'true' : (textOf(sent, 'refresh') ?? ''),
    'blocking',
  )
  const prepared = prepareSaved(needs, call, questionOfFilters({ ...sent, insight }))
  const result = await askPrepared(needs, call, prepared, mode)
  return answerJson({ ...result, timezone: call.project.timezone, next: null })
}
