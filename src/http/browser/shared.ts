/** Answers public links to dashboards: the dashboard and its results, read-only. */

import type { Dashboard } from '../../dashboards/dashboard.ts'
import { getInsight } from '../../dashboards/insight.ts'
import { findSharedDashboard } from '../../dashboards/sharing.ts'
import { listTiles, type Tile } from '../../dashboards/tile.ts'
import { Refusal } from '../../errors.ts'
import { senderNetwork } from '../../networks.ts'
import { hasRight, isShown, rightsAt } from '../../projects/rights/rights.ts'
import { KeyLimits } from '../../query/service/key-limits.ts'
import { tryInsight, withFilters } from '../analytics/insights/insight-results.ts'
import { actForMember, READ_SCOPES } from '../analytics/member-calls.ts'
import type { QueryCall } from '../analytics/queries/query-context.ts'
import { answerJsonWithRaw } from '../answers/answers.ts'
import { compressAnswer } from '../answers/compress.ts'
import type { AppContext } from '../app-context.ts'
import { requestIp } from '../callers/client-ip.ts'
import type { ClientSocket } from '../endpoint.ts'

/** Reads of one link from one network; a screen on the wall reads once in some minutes. */
const READS_PER_MINUTE = 30

const NO_STORE = { 'Cache-Control': 'no-store', 'X-Robots-Tag': 'noindex' }

/** Creates the function that answers `GET /shared/:token.json`. */
export function sharedBoardReader(app: AppContext) {
  const limits = { running_max: 0, per_minute: READS_PER_MINUTE, per_hour: 0 }
  const reads = new KeyLimits(limits, app.now)
  return async (token: string, request: Request, socket: ClientSocket): Promise<Response> => {
    const look = () => getShared(app, token)
    const { dashboard, caller, project, level } = app.failed_keys.guard(request, socket, look)
    const network = senderNetwork(requestIp(app, request, socket))
    const leave = reads.enter(`${caller.id} ${network}`)
    try {
      const call = { caller, project, level, request, socket }
      const tiles = await readSharedTiles(app, call, dashboard)
      const { id, name, description } = dashboard
      const { timezone } = project
      const shown = { type: 'scene', timezone, dashboard: { id, name, description, tiles } }
      const answer = answerJsonWithRaw(shown)
      for (const [header, value] of Object.entries(NO_STORE)) answer.headers.set(header, value)
      return await compressAnswer(request, answer)
    } finally {
      leave()
    }
  }
}

/**
 * Finds the dashboard of an open link. It has the rights of the member who opened it, so it ends with their access.
 * Refuses other tokens as not found.
 */
function getShared(app: AppContext, token: string) {
  const shared = findSharedDashboard(app.control, token)
  if (shared === null) throw new Refusal('not_found', 'This link is no longer valid, or never was.')
  const { dashboard, user_id } = shared
  const member = { id: `link of dashboard ${dashboard.id}`, user_id, scopes: READ_SCOPES }
  const { caller, project, level } = actForMember(app.control, member, dashboard.project_id)
  const rights = rightsAt(app.control, caller, { project, level })
  if (!hasRight(rights, { scope: 'dashboard:read', by: 'key_and_level' })) {
    throw new Refusal('not_found', 'This link is no longer valid, or never was.')
  }
  return { dashboard, caller, project, level }
}

/** Serializes the tiles. Insights run one after the other, so that one reader occupies one query slot. */
export async function readSharedTiles(
  app: AppContext,
  call: QueryCall,
  dashboard: Dashboard,
  tiles_max = Number.POSITIVE_INFINITY,
): Promise<readonly object[]> {
  const is_hidden = !isShown(rightsAt(app.control, call.caller, call), 'dashboard.insight')
  const tiles: object[] = []
  for (const tile of listTiles(app.control, dashboard.id)) {
    const { id, layouts, color, body, insight_id } = tile
    if (insight_id !== null && is_hidden) continue
    if (tiles.length === tiles_max) break
    const insight = insight_id === null ? null : await readSharedInsight(app, call, dashboard, tile)
    tiles.push({ id, layouts, color, text: body === null ? null : { body }, insight })
  }
  return tiles
}

async function readSharedInsight(
  app: AppContext,
  call: QueryCall,
  { filters, variables }: Dashboard,
  { insight_id }: Tile,
): Promise<object> {
  const insight = getInsight(app.control, call.project.id, insight_id ?? 0)
  // The address of a reader changes neither filters nor the refresh mode.
  const overrides = { filters, variables }
  const computed = await tryInsight(app, call, insight, { mode: 'blocking', overrides })
  const { result, columns, types, last_refresh, query_status } = computed
  const { name, description, query } = withFilters(insight, filters)
  return { name, description, query, result, columns, types, last_refresh, query_status }
}
