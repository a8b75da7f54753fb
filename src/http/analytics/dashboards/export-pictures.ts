/** The picture of an export: drawn from the same answer that a public link has, with the rights of the caller who downloads it. */

import { type Dashboard, getDashboard } from '../../../dashboards/dashboard.ts'
import type { SavedInsight } from '../../../dashboards/insight.ts'
import { PICTURE_TILES_MAX } from '../../../pictures/pictures.ts'
import { requireRight, rightsAt } from '../../../projects/rights/rights.ts'
import { DASHBOARD_READ } from '../../../projects/rights/ways.ts'
import { bytesOfJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { readSharedTiles } from '../../browser/shared.ts'
import { withoutIdleTimeout } from '../../idle-timeout.ts'
import { computeInsight } from '../insights/insight-results.ts'
import type { QueryCall } from '../queries/query-context.ts'

/** The drawn members of an insight: a saved one, or a query with a name. */
export type DrawnInsight = Pick<SavedInsight, 'name' | 'description' | 'query' | 'filters'>

/** Returns the dashboard that is to be drawn. Refuses callers who may not read dashboards. */
export function requireDrawnDashboard(app: AppContext, call: QueryCall, id: number): Dashboard {
  requireRight(rightsAt(app.control, call.caller, call), DASHBOARD_READ)
  return getDashboard(app.control, call.project.id, id)
}

/** Computes an insight and draws it. */
export async function drawInsight(
  app: AppContext,
  call: QueryCall,
  insight: DrawnInsight,
): Promise<Uint8Array> {
  const computed = await computeInsight(app, call, insight, { mode: 'blocking' })
  const { name, description, query } = insight
  const { result, columns, types, last_refresh, query_status } = computed
  const shown = { name, description, query, result, columns, types, last_refresh, query_status }
  const layouts = { sm: { x: 0, y: 0, w: 12, h: 6 } }
  const tile = { id: 0, layouts, color: null, text: null, insight: shown }
  return draw(app, call, { name, description: description ?? '', tiles: [tile] }, 'insight')
}

/** Computes the insights of a dashboard, as far as a picture shows them, and draws it. */
export async function drawDashboard(
  app: AppContext,
  call: QueryCall,
  dashboard: Dashboard,
): Promise<Uint8Array> {
  const { name, description } = dashboard
  const tiles = await readSharedTiles(app, call, dashboard, PICTURE_TILES_MAX)
  return draw(app, call, { name, description, tiles }, 'dashboard')
}

async function draw(
  app: AppContext,
  { project, request, socket }: QueryCall,
  dashboard: object,
  size: 'insight' | 'dashboard',
): Promise<Uint8Array> {
  const { timezone } = project
  const answer = bytesOfJson({ type: 'scene', is_picture: true, timezone, dashboard })
  // Pictures that wait for their turn take longer than the timeout of idle connections.
  return withoutIdleTimeout({ request, socket }, () =>
    app.pictures.draw({ project_id: project.id, answer, size }),
  )
}
