/** A dashboard of how much a flag is asked for, made on demand (wire §3.8). */
import { createDashboard, type Dashboard, getDashboard } from '../../boards/dashboard.ts'
import { createInsight, getInsight } from '../../boards/insight.ts'
import { listTiles } from '../../boards/tile.ts'
import { FlagDashboardAnswer } from '../../contract/flags.ts'
import { Refusal } from '../../errors.ts'
import type { Asker } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import type { Json } from '../../projects/tables.ts'
import { type Flag, getFlag, updateFlag } from '../../targeting/flag.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { boardEditor } from '../questions/insights.ts'
import { projectRoute } from '../route.ts'
import { editorOf } from './feature-flags.ts'

export const FLAG_DASHBOARD_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'feature_flags/:id/dashboard/',
    scope: 'feature_flag:write',
    says: 'See to it that a flag has a dashboard of how much it is asked for, by value.',
    answers: { 200: FlagDashboardAnswer },
    answer: (needs, { params, project, asker }) => {
      const flag = getPresent(needs, project, numberIn(params))
      const known = findUsageDashboard(needs, flag)
      if (known !== null) return answerJson({ success: true, dashboard_id: known.id })
      const now = needs.now()
      const boards = boardEditor(needs, project, asker)
      const editor = editorOf(needs, project, asker)
      const dashboard_id = needs.control.transaction(() => {
        const { id } = createDashboard(
          boards,
          { name: `Generated Dashboard: ${flag.key} Usage` },
          now,
        )
        addInsights(needs, { project, asker }, id, callsOf(flag.key))
        updateFlag(editor, flag, { usage_dashboard: id }, now)
        return id
      })
      return answerJson({ success: true, dashboard_id })
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/:id/enrich_usage_dashboard/',
    scope: 'feature_flag:write',
    says: "Add how often a flag's feature is seen and used to the flag's dashboard.",
    answers: { 200: FlagDashboardAnswer },
    answer: (needs, { params, project, asker }) => {
      const flag = getPresent(needs, project, numberIn(params))
      const dashboard = findUsageDashboard(needs, flag)
      if (dashboard === null) throw refused('Usage dashboard not found')
      const wanted = useOf(flag.key)
      if (insightNames(needs, dashboard).has(wanted[0].name)) {
        throw refused('Usage dashboard already has enriched data')
      }
      if (!flag.has_enriched_analytics) {
        throw refused('No enriched analytics available for this feature flag')
      }
      needs.control.transaction(() => addInsights(needs, { project, asker }, dashboard.id, wanted))
      return answerJson({ success: true, dashboard_id: dashboard.id })
    },
  }),
] as const

function getPresent(needs: Needs, project: Project, id: number): Flag {
  const flag = getFlag(needs.control, project.id, id)
  if (!flag.deleted) return flag
  throw new Refusal('invalid_input', 'This feature flag has been deleted. Restore it first.')
}

/** Null when the flag has none, or it was deleted. */
function findUsageDashboard(needs: Needs, { project_id, usage_dashboard }: Flag): Dashboard | null {
  if (usage_dashboard === null) return null
  try {
    const dashboard = getDashboard(needs.control, project_id, usage_dashboard)
    return dashboard.deleted ? null : dashboard
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

function insightNames(needs: Needs, { id, project_id }: Dashboard): ReadonlySet<string | null> {
  const names = listTiles(needs.control, id).flatMap(({ insight_id }) =>
    insight_id === null ? [] : getInsight(needs.control, project_id, insight_id).name,
  )
  return new Set(names)
}

type Saved = { readonly name: string; readonly query: Json }

function addInsights(
  needs: Needs,
  { project, asker }: { readonly project: Project; readonly asker: Asker },
  dashboard_id: number,
  wanted: readonly Saved[],
): void {
  const boards = boardEditor(needs, project, asker)
  for (const { name, query } of wanted) {
    createInsight(boards, { name, query, dashboards: [dashboard_id] }, needs.now())
  }
}

/** How often a flag was asked for, and by how many people, by the value they got. */
function callsOf(flag_key: string): readonly Saved[] {
  const called = {
    event: '$feature_flag_called',
    property: '$feature_flag',
    flag_key,
    breakdown: '$feature_flag_response',
  }
  return [
    { name: 'Feature Flag Called Total Volume', query: trend(called, 'total') },
    {
      name: 'Feature Flag calls made by unique users per variant',
      query: trend(called, 'dau'),
    },
  ]
}

/** How often the flag's feature was seen and used, and by how many people. */
function useOf(flag_key: string): readonly [Saved, ...Saved[]] {
  const seen = { event: '$feature_view', property: 'feature_flag', flag_key }
  const used = { ...seen, event: '$feature_interaction' }
  return [
    { name: 'Feature Viewed Total', query: trend(seen, 'total') },
    { name: 'Feature Viewed Unique Users', query: trend(seen, 'dau') },
    { name: 'Feature Interaction Total', query: trend(used, 'total') },
    { name: 'Feature Interaction Unique Users', query: trend(used, 'dau') },
  ]
}

type Counted = {
  readonly event: string
  /** The event's property that names the flag. */
  readonly property: string
  readonly flag_key: string
  readonly breakdown?: string
}

function trend({ event, property, flag_key, breakdown }: Counted, math: string): Json {
  return {
    kind: 'InsightVizNode',
    source: {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event, name: event, math }],
      dateRange: { date_from: '-30d' },
      interval: 'day',
      properties: [{ key: property, value: flag_key, operator: 'exact', type: 'event' }],
      ...(breakdown === undefined
        ? {}
        : { breakdownFilter: { breakdown, breakdown_type: 'event' } }),
    },
  }
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr: 'usage_dashboard' })
}
