/** Posts subscribed dashboards to their webhooks: the figures as JSON, and a picture where this machine has Chromium. */

import type { Dashboard } from '../../../dashboards/dashboard.ts'
import {
  listDueSubscriptions,
  recordDelivery,
  rescheduleDeliveries,
  type Subscription,
} from '../../../dashboards/subscription.ts'
import { Refusal } from '../../../errors.ts'
import { PeriodicTask } from '../../../targeting/shared/periodic-task.ts'
import { bytesOfJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { readSharedTiles } from '../../browser/shared.ts'
import { drawDashboard, requireDrawnDashboard } from '../dashboards/export-pictures.ts'
import { backgroundCall } from '../member-calls.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { FairRounds } from './fair-round.ts'
import { postMessage } from './webhook-messages.ts'

const LOOK_MS = 60_000
const DELIVERIES_PER_ROUND = 50
/** Time for the figures and the picture of one dashboard, whose queries may be many. */
const DELIVERY_MS_MAX = 5 * 60_000
/** Longer answers are not posted: the receiver gets the address of the dashboard only. */
const FIGURES_BYTES_MAX = 4 * 1024 * 1024

/** Posts due dashboards from `start` to `close`, those of a project one after the other. A server that was off posts each dashboard once. */
export class Deliveries extends PeriodicTask {
  readonly #app: AppContext

  readonly #delivery_ms_max: number

  constructor(app: AppContext, delivery_ms_max = DELIVERY_MS_MAX) {
    const rounds = new FairRounds<Subscription>({
      listDue: () => listDueSubscriptions(app.control, app.now(), DELIVERIES_PER_ROUND),
      serve: (subscription) => this.#deliver(subscription),
      isOpen: () => this.is_open,
      log: app.log,
    })
    super({ every_ms: LOOK_MS, failure: 'subscriptions cannot be delivered', log: app.log }, () => {
      rescheduleDeliveries(app.control, app.now())
      return rounds.run(DELIVERIES_PER_ROUND)
    })
    this.#app = app
    this.#delivery_ms_max = delivery_ms_max
  }

  async #deliver(subscription: Subscription): Promise<void> {
    const { control, now } = this.#app
    const signal = AbortSignal.timeout(this.#delivery_ms_max)
    const error = await deliver(this.#app, subscription, signal)
    // A stop ends queries too: the next start delivers.
    if (this.is_open) recordDelivery(control, subscription, error, now())
  }
}

/** Posts one dashboard, as the member who subscribed sees it. Returns why it did not arrive; null when it did. */
async function deliver(
  app: AppContext,
  subscription: Subscription,
  signal: AbortSignal,
): Promise<string | null> {
  const { id, created_by: user_id, project_id, dashboard_id, target_value } = subscription
  try {
    const call = backgroundCall(app, { id: `subscription ${id}`, user_id, project_id }, signal)
    const dashboard = requireDrawnDashboard(app, call, dashboard_id)
    const message = await messageOf(app, call, subscription, dashboard)
    if (signal.aborted) return TOOK_LONG
    const sent = await postMessage(app, target_value, message)
    return sent.kind === 'delivered' ? null : `The webhook: ${sent.reason}.`
  } catch (error) {
    if (signal.aborted) return TOOK_LONG
    if (error instanceof Refusal) return error.detail
    throw error
  }
}

const TOOK_LONG = 'The figures of the dashboard took too long.'

async function messageOf(
  app: AppContext,
  call: QueryCall,
  { title, project_id }: Subscription,
  dashboard: Dashboard,
): Promise<object> {
  const { id, name, description } = dashboard
  const tiles = await readSharedTiles(app, call, dashboard)
  const is_short = bytesOfJson(tiles).length <= FIGURES_BYTES_MAX
  const url = `${app.publicUrl()}/p/${project_id}/boards/${id}`
  return {
    type: 'subscription',
    // Chat programs show this member.
    text: `${title || name || 'Dashboard'}: ${url}`,
    project_id,
    delivered_at: app.now().toISOString(),
    dashboard: { id, name, description, url, tiles: is_short ? tiles : null },
    picture_png_base64: await drawPicture(app, call, dashboard),
  }
}

/** The picture of a dashboard; null where there is no Chromium, or it could not draw in time. */
async function drawPicture(
  app: AppContext,
  call: QueryCall,
  dashboard: Dashboard,
): Promise<string | null> {
  try {
    return Buffer.from(await drawDashboard(app, call, dashboard)).toString('base64')
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
