/** Posts subscribed dashboards to their webhooks: the figures as JSON, and a picture where this machine has Chromium. */
import type { Dashboard } from '../../../dashboards/dashboard.ts'
import {
  listDueSubscriptions,
  recordDelivery,
  type Subscription,
} from '../../../dashboards/subscription.ts'
import { Refusal } from '../../../errors.ts'
import { PeriodicTask } from '../../../targeting/shared/periodic-task.ts'
import { bytesOfJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { readSharedTiles } from '../../browser/shared.ts'
import {
  drawDashboard,
  type PictureCall,
  requireDrawnDashboard,
} from '../dashboards/export-pictures.ts'
import { backgroundCall } from '../member-calls.ts'
import { postMessage } from './webhook-messages.ts'

const LOOK_MS = 60_000
const DELIVERIES_PER_ROUND = 50
/** Longer answers are not posted: the receiver gets the address of the dashboard only. */
const FIGURES_BYTES_MAX = 4 * 1024 * 1024

/** Posts due dashboards from `start` to `close`, one after the other. A server that was off posts each dashboard once. */
export class Deliveries extends PeriodicTask {
  readonly #app: AppContext

  constructor(app: AppContext) {
    super({ every_ms: LOOK_MS, failure: 'subscriptions cannot be delivered', log: app.log }, () =>
      this.#deliverDue(),
    )
    this.#app = app
  }

  async #deliverDue(): Promise<void> {
    const { control, now } = this.#app
    for (const subscription of listDueSubscriptions(control, now(), DELIVERIES_PER_ROUND)) {
      if (!this.is_open) return
      const error = await deliver(this.#app, subscription)
      // A stop ends questions too: the next start delivers.
      if (this.is_open) recordDelivery(control, subscription, error, now())
    }
  }
}

/** Posts one dashboard, as the member who subscribed sees it. Returns why it did not arrive; null when it did. */
async function deliver(app: AppContext, subscription: Subscription): Promise<string | null> {
  const { id, created_by: user_id, project_id, dashboard_id, target_value } = subscription
  try {
    const call = backgroundCall(app, { id: `subscription ${id}`, user_id, project_id })
    const dashboard = requireDrawnDashboard(app, call, dashboard_id)
    const message = await messageOf(app, call, subscription, dashboard)
    const sent = await postMessage(app, target_value, message)
    return sent.kind === 'delivered' ? null : `The webhook: ${sent.reason}.`
  } catch (error) {
    if (error instanceof Refusal) return error.detail
    throw error
  }
}

async function messageOf(
  app: AppContext,
  call: PictureCall,
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
  call: PictureCall,
  dashboard: Dashboard,
): Promise<string | null> {
  try {
    return Buffer.from(await drawDashboard(app, call, dashboard)).toString('base64')
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
