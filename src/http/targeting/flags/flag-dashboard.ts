/** A usage dashboard of a flag, created on demand. */

import { FlagDashboardAnswer } from '../../../contract/targeting/flags.ts'
import { createDashboard, type Dashboard, getDashboard } from '../../../dashboards/dashboard.ts'
import { createInsight, getInsight } from '../../../dashboards/insight.ts'
import { listTiles } from '../../../dashboards/tile.ts'
import { Refusal } from '../../../errors.ts'
import type { Caller } from '../../../projects/rights/access.ts'
import type { Project } from '../../../projects/settings/project.ts'
import type { Json } from '../../../projects/tables.ts'
import { type Flag, getPresentFlag, updateFlag } from '../../../targeting/flags/flag.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { boardEditor, targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'

export const FLAG_DASHBOARD_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'feature_flags/:id/dashboard/',
    scope: 'feature_flag:write',
    summary: 'Create a usage dashboard for a flag, unless it has one.',
    answers: { 200: FlagDashboardAnswer },
    answer: (app, { params, project, caller }) => {
      const flag = getPresentFlag(app.control, project.id, parseNumberId(params))
      const stored = findUsageDashboard(app, flag)
      if (stored !== null) return answerJson({ success: true, dashboard_id: stored.id })
      const now = app.now()
      const boards = boardEditor(app, project, caller)
      const editor = targetingEditor(app, project, caller)
      const dashboard_id = app.control.transaction(() => {
        const { id } = createDashboard(
          boards,
          { name: `Generated Dashboard: ${flag.key} Usage` },
          now,
        )
        addInsights(app, { project, caller }, id, callsOf(flag.key))
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
    summary: "Add how often a flag's feature is seen and used to the flag's dashboard.",
    answers: { 200: FlagDashboardAnswer },
    answer: (app, { params, project, caller }) => {
      const flag = getPresentFlag(app.control, project.id, parseNumberId(params))
      const dashboard = findUsageDashboard(app, flag)
      if (dashboard === null) throw invalidDashboard('Usage dashboard not found')
      const wanted = useOf(flag.key)
      if (insightNames(app, dashboard).has(wanted[0].name)) {
        throw invalidDashboard('Usage dashboard already has enriched data')
      }
      if (!flag.has_enriched_analytics) {
        throw invalidDashboard('No enriched analytics available for this feature flag')
      }
      app.control.transaction(() => addInsights(app, { project, caller }, dashboard.id, wanted))
      return answerJson({ success: true, dashboard_id: dashboard.id })
    },
  }),
] as const

/** Returns the flag's dashboard; null when it has none or it was deleted. */
function findUsageDashboard(
  app: AppContext,
  { project_id, usage_dashboard }: Flag,
): Dashboard | null {
  if (usage_dashboard === null) return null
  try {
    const dashboard = getDashboard(app.control, project_id, usage_dashboard)
    return dashboard.deleted ? null : dashboard
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

function insightNames(app: AppContext, { id, project_id }: Dashboard): ReadonlySet<string | null> {
  const names = listTiles(app.control, id).flatMap(({ insight_id }) =>
    insight_id === null ? [] : getInsight(app.control, project_id, insight_id).name,
  )
  return new Set(names)
}

type UsageInsight = { readonly name: string; readonly query: Json }

function addInsights(
  app: AppContext,
  { project, caller }: { readonly project: Project; readonly caller: Caller },
  dashboard_id: number,
  wanted: readonly UsageInsight[],
): void {
  const boards = boardEditor(app, project, caller)
  for (const { name, query } of wanted) {
    createInsight(boards, { name, query, dashboards: [dashboard_id] }, app.now())
  }
}

/** Insights on calls of the flag and persons, by value. */
function callsOf(flag_key: string): readonly UsageInsight[] {
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

/** Insights on views and uses of the flag's feature, and persons. */
function useOf(flag_key: string): readonly [UsageInsight, ...UsageInsight[]] {
  const seen = { event: '$feature_view', property: 'feature_flag', flag_key }
  const used = { ...seen, event: '$feature_interaction' }
  return [
    { name: 'Feature Viewed Total', query: trend(seen, 'total') },
    { name: 'Feature Viewed Unique Users', query: trend(seen, 'dau') },
    { name: 'Feature Interaction Total', query: trend(used, 'total') },
    { name: 'Feature Interaction Unique Users', query: trend(used, 'dau') },
  ]
}

type UsageSeries = {
  readonly event: string
  /** The event property that contains the flag's key. */
  readonly property: string
  readonly flag_key: string
  readonly breakdown?: string
}

function trend({ event, property, flag_key, breakdown }: UsageSeries, math: string): Json {
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

function invalidDashboard(detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr: 'usage_dashboard' })
}
