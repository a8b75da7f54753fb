/** A dashboard of how much a flag is asked for, made on demand (wire §3.8). */
import { createDashboard } from '../../boards/dashboard.ts'
import { createInsight } from '../../boards/insight.ts'
import { FlagDashboardAnswer } from '../../contract/flags.ts'
import { Refusal } from '../../errors.ts'
import { getFlag, updateFlag } from '../../targeting/flag.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { boardEditor } from '../questions/insights.ts'
import { projectRoute } from '../route.ts'
import { editorOf } from './feature-flags.ts'

export const FLAG_DASHBOARD_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'feature_flags/:id/dashboard/',
    scope: 'feature_flag:write',
    says: 'Make a dashboard of how much a flag is asked for, by value; a flag has one.',
    answers: { 200: FlagDashboardAnswer },
    answer: (needs, { params, project, asker }) => {
      const { control } = needs
      const now = needs.now()
      const flag = getFlag(control, project.id, numberIn(params))
      if (flag.usage_dashboard !== null) {
        const detail = 'The flag has a usage dashboard already.'
        throw new Refusal('invalid_input', detail, { attr: 'usage_dashboard' })
      }
      const boards = boardEditor(needs, project, asker)
      const editor = editorOf(needs, project, asker)
      const dashboard_id = control.transaction(() => {
        const name = `Generated Dashboard: ${flag.key} Usage`
        const { id } = createDashboard(boards, { name }, now)
        for (const saved of insightsOf(flag.key)) {
          createInsight(boards, { ...saved, dashboards: [id] }, now)
        }
        updateFlag(editor, flag, { usage_dashboard: id }, now)
        return id
      })
      return answerJson({ success: true, dashboard_id })
    },
  }),
] as const

/** How often a flag was asked for, and by how many people, by the value they got. */
function insightsOf(flag_key: string) {
  const called = { kind: 'EventsNode', event: '$feature_flag_called', name: '$feature_flag_called' }
  const query = (math: string) => ({
    kind: 'InsightVizNode',
    source: {
      kind: 'TrendsQuery',
      series: [{ ...called, math }],
      dateRange: { date_from: '-30d' },
      interval: 'day',
      properties: [{ key: '$feature_flag', value: flag_key, operator: 'exact', type: 'event' }],
      breakdownFilter: { breakdown: '$feature_flag_response', breakdown_type: 'event' },
    },
  })
  return [
    { name: 'Feature Flag Called Total Volume', query: query('total') },
    { name: 'Feature Flag calls made by unique users per variant', query: query('dau') },
  ]
}
