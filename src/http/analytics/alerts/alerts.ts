/** Alerts on insights: list, create, read with the history of checks, change, delete. `alert-checks.ts` checks them. */
import {
  AlertAnswer,
  AlertBody,
  AlertChangesBody,
  AlertPage,
  AlertsQuery,
  type InsightReference,
} from '../../../contract/analytics/alerts.ts'
import {
  type Alert,
  type AlertChanges,
  createAlert,
  deleteAlert,
  getAlert,
  listAlertIds,
  listChecks,
  listInsightNames,
  readAlerts,
  updateAlert,
} from '../../../dashboards/alert.ts'
import { requirePresent } from '../../../dashboards/board-editor.ts'
import { getInsight } from '../../../dashboards/insight.ts'
import { getNamed, Refusal, unknownId } from '../../../errors.ts'
import { answerJson, answerNothing } from '../../answers/answers.ts'
import { answerPage, queryValue, readPage } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { sentMembers } from '../../bodies/sent-members.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { parseTimestamp } from '../../bodies/timestamps.ts'
import { authorFinder } from '../../callers/authors.ts'
import { boardEditor } from '../../callers/editors.ts'
import { parseUuidId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { isTrend } from './alert-checks.ts'

/** Checks in the answer for one alert. */
const CHECKS_SHOWN = 50

export const ALERT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'alerts/',
    scope: 'alert:read',
    summary: 'List the alerts on insights, the newest first.',
    query: AlertsQuery,
    answers: { 200: AlertPage },
    answer: (app, { project, request }) => {
      const insight = queryValue(request, 'insight')
      const alerts = listAlertIds(app.control, project.id).filter(
        ({ insight_id }) => insight === null || String(insight_id) === insight,
      )
      const { offset, limit } = readPage(request)
      // At once: an alert may be deleted while a long page is written in slices.
      const page = alerts.slice(offset, offset + limit).map(({ id }) => id)
      const whole = readAlerts(app.control, page)
      const serialize = alertSerializer(app, 0)
      return answerPage(request, app.publicUrl(), alerts, ({ id }) =>
        serialize(whole.get(id) ?? getAlert(app.control, project.id, id)),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'alerts/',
    scope: 'alert:write',
    summary: 'Create an alert on one series of a saved trend; it is first checked within a minute.',
    body: validatorOf(AlertBody),
    answers: { 201: AlertAnswer },
    answer: (app, { project, caller, body }) => {
      const { insight, threshold, condition, config } = body
      const rule = {
        insight_id: insightIdOf(insight),
        threshold: threshold.configuration,
        condition_type: condition.type,
        config,
      }
      const editor = boardEditor(app, project, caller)
      const wanted = { ...readAlertChanges(app, project.id, body), ...rule }
      const alert = createAlert(editor, wanted, app.now())
      return answerJson(alertSerializer(app, CHECKS_SHOWN)(alert), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'alerts/:alert_id/',
    scope: 'alert:read',
    summary: 'Read an alert with its last checks.',
    answers: { 200: AlertAnswer },
    answer: (app, { project, params }) => {
      const alert = getAlert(app.control, project.id, parseUuidId(params, 'alert_id'))
      return answerJson(alertSerializer(app, CHECKS_SHOWN)(alert))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'alerts/:alert_id/',
    scope: 'alert:write',
    summary: 'Change an alert, or silence it until `snoozed_until`.',
    body: validatorOf(AlertChangesBody),
    answers: { 200: AlertAnswer },
    answer: (app, { project, params, caller, body }) => {
      const before = getAlert(app.control, project.id, parseUuidId(params, 'alert_id'))
      const editor = boardEditor(app, project, caller)
      const wanted = readAlertChanges(app, project.id, body)
      const alert = updateAlert(editor, before, wanted, app.now())
      return answerJson(alertSerializer(app, CHECKS_SHOWN)(alert))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'alerts/:alert_id/',
    scope: 'alert:write',
    summary: 'Delete an alert with its history.',
    answers: { 204: null },
    answer: (app, { project, params, caller }) => {
      const before = getAlert(app.control, project.id, parseUuidId(params, 'alert_id'))
      deleteAlert(boardEditor(app, project, caller), before, app.now())
      return answerNothing()
    },
  }),
] as const

/** Reads the sent members. Refuses insights that are no trends, addresses that may not be called, and rules without bounds. */
function readAlertChanges(
  app: AppContext,
  project_id: number,
  body: (typeof AlertChangesBody)['static'],
): AlertChanges {
  const { threshold, webhook_url, condition } = body
  const insight_id = body.insight === undefined ? undefined : insightIdOf(body.insight)
  if (insight_id !== undefined) requireTrend(app, project_id, insight_id)
  if (webhook_url) app.addresses.requirePublicUrl(webhook_url, 'webhook_url')
  const { lower = null, upper = null } = threshold?.configuration.bounds ?? {}
  if (threshold !== undefined && lower === null && upper === null) {
    const detail = 'Give a lower or an upper bound.'
    throw new Refusal('required', detail, { attr: 'threshold__configuration__bounds' })
  }
  return sentMembers({
    name: body.name,
    insight_id,
    threshold: threshold?.configuration,
    condition_type: condition?.type,
    config: body.config,
    calculation_interval: body.calculation_interval,
    enabled: body.enabled,
    skip_weekend: body.skip_weekend ?? undefined,
    snoozed_until: parseTimestamp(body.snoozed_until, 'snoozed_until'),
    webhook_url: webhook_url === '' ? null : webhook_url,
  })
}

const insightIdOf = (insight: InsightReference): number =>
  typeof insight === 'number' ? insight : insight.id

function requireTrend(app: AppContext, project_id: number, id: number): void {
  if (isTrend(findPresentInsight(app, project_id, id))) return
  const detail = 'Alerts are on trends: this insight is of another kind.'
  throw new Refusal('invalid_input', detail, { attr: 'insight' })
}

function findPresentInsight(app: AppContext, project_id: number, id: number) {
  const get = () => requirePresent(getInsight(app.control, project_id, id))
  return getNamed(get, 'insight', unknownId(id))
}

/** Returns a function that serializes alerts during one request, with at most `checks_max` checks each. */
function alertSerializer(app: AppContext, checks_max: number): (alert: Alert) => object {
  const nameAuthor = authorFinder(app)
  return (alert) => {
    const { project_id: _project, insight_id, condition_type, threshold, ...members } = alert
    const { notified_state: _told, next_check_at, ...stored } = members
    const insight = listInsightNames(app.control, [insight_id]).get(insight_id)
    const checks = checks_max === 0 ? [] : listChecks(app.control, alert.id, checks_max)
    return {
      ...stored,
      insight,
      condition: { type: condition_type },
      threshold: { configuration: threshold },
      next_check_at: alert.enabled ? next_check_at : null,
      subscribed_users: [],
      created_by: nameAuthor(alert.created_by),
      // Ids of checks are text on PostHog; its Terraform provider reads no alert with numbers there.
      checks: checks.map(({ alert_id: _alert, id, is_notified, ...check }) => ({
        id: String(id),
        ...check,
        targets_notified: is_notified,
      })),
    }
  }
}
