/** Subscriptions of dashboards: list, create, read, change. Deleting is a change. `deliveries.ts` posts them. */
import {
  SubscriptionAnswer,
  SubscriptionBody,
  SubscriptionChangesBody,
  SubscriptionPage,
  SubscriptionsQuery,
} from '../../../contract/analytics/subscriptions.ts'
import { requirePresent } from '../../../dashboards/board-editor.ts'
import { getDashboard } from '../../../dashboards/dashboard.ts'
import {
  createSubscription,
  getSubscription,
  listSubscriptions,
  type Subscription,
  type SubscriptionChanges,
  updateSubscription,
} from '../../../dashboards/subscription.ts'
import { getNamed, unknownId } from '../../../errors.ts'
import { answerJson } from '../../answers/answers.ts'
import { answerPage, queryValue } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { sentMembers } from '../../bodies/sent-members.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { parseTimestamp } from '../../bodies/timestamps.ts'
import { authorFinder } from '../../callers/authors.ts'
import { boardEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'

export const SUBSCRIPTION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'subscriptions/',
    scope: 'subscription:read',
    summary: 'List the subscriptions of dashboards, the newest first.',
    query: SubscriptionsQuery,
    answers: { 200: SubscriptionPage },
    answer: (app, { project, request }) => {
      const dashboard = queryValue(request, 'dashboard')
      const result = listSubscriptions(app.control, project.id).filter(
        ({ dashboard_id }) => dashboard === null || String(dashboard_id) === dashboard,
      )
      return answerPage(request, app.publicUrl(), result, subscriptionSerializer(app))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'subscriptions/',
    scope: 'subscription:write',
    summary: 'Post a dashboard to a webhook on a schedule.',
    body: validatorOf(SubscriptionBody),
    answers: { 201: SubscriptionAnswer },
    answer: (app, { project, caller, body }) => {
      const { dashboard: dashboard_id, frequency, target_value } = body
      requireBoard(app, project.id, dashboard_id)
      const wanted = readSubscriptionChanges(app, body)
      const editor = boardEditor(app, project, caller)
      const fields = { ...wanted, dashboard_id, frequency, target_value }
      const made = createSubscription(editor, fields, app.now())
      return answerJson(subscriptionSerializer(app)(made), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'subscriptions/:id/',
    scope: 'subscription:read',
    summary: 'Read a subscription.',
    answers: { 200: SubscriptionAnswer },
    answer: (app, { project, params }) => {
      const stored = getSubscription(app.control, project.id, parseNumberId(params))
      return answerJson(subscriptionSerializer(app)(presentSubscription(stored)))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'subscriptions/:id/',
    scope: 'subscription:write',
    summary: 'Change a subscription; `deleted: true` deletes it.',
    body: validatorOf(SubscriptionChangesBody),
    answers: { 200: SubscriptionAnswer },
    answer: (app, { project, params, caller, body }) => {
      const stored = getSubscription(app.control, project.id, parseNumberId(params))
      const before = requirePresent(stored, body)
      const editor = boardEditor(app, project, caller)
      const wanted = readSubscriptionChanges(app, body)
      const changed = updateSubscription(editor, before, wanted, app.now())
      return answerJson(subscriptionSerializer(app)(changed))
    },
  }),
] as const

const presentSubscription = (stored: Subscription): Subscription => requirePresent(stored)

/** Reads the sent members. Refuses addresses that may not be called. */
function readSubscriptionChanges(
  app: AppContext,
  body: (typeof SubscriptionChangesBody)['static'],
): SubscriptionChanges {
  const { target_value } = body
  if (target_value !== undefined) app.addresses.requirePublicUrl(target_value, 'target_value')
  return sentMembers({
    title: body.title,
    target_value,
    frequency: body.frequency,
    interval: body.interval,
    start_date: parseTimestamp(body.start_date, 'start_date') ?? undefined,
    deleted: body.deleted,
  })
}

function requireBoard(app: AppContext, project_id: number, id: number): void {
  const get = () => requirePresent(getDashboard(app.control, project_id, id))
  getNamed(get, 'dashboard', unknownId(id))
}

function subscriptionSerializer(app: AppContext): (subscription: Subscription) => object {
  const nameAuthor = authorFinder(app)
  return ({ project_id: _project, dashboard_id, created_by, ...stored }) => ({
    ...stored,
    dashboard: dashboard_id,
    insight: null,
    target_type: 'webhook',
    created_by: nameAuthor(created_by),
  })
}
