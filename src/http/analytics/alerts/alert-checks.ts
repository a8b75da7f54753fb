/** Checks alerts on their schedule: computes the insight, judges its last whole interval, and posts changes of the state to a webhook. */

import type { Interval } from '../../../contract/insights/parts.ts'
import {
  ALERT_INTERVALS_MS,
  type Alert,
  type AlertState,
  type CheckRecord,
  listDueAlerts,
  recordCheck,
  releaseAlerts,
} from '../../../dashboards/alert.ts'
import {
  type AlertPoint,
  type AlertRule,
  type AlertVerdict,
  judgePoint,
} from '../../../dashboards/alert-verdict.ts'
import { getInsight, type SavedInsight } from '../../../dashboards/insight.ts'
import { Refusal } from '../../../errors.ts'
import { stepAfter, stepStart } from '../../../insights/dates/buckets.ts'
import { isoLocal } from '../../../insights/dates/date-range.ts'
import { localDate, readDate } from '../../../insights/dates/dates.ts'
import { type InsightDates, projectDates } from '../../../insights/insight.ts'
import type { PostResult } from '../../../plugins/webhook.ts'
import { findProject } from '../../../projects/settings/project.ts'
import { PeriodicTask } from '../../../targeting/shared/periodic-task.ts'
import { HOUR_MS } from '../../../time.ts'
import type { AppContext } from '../../app-context.ts'
import { computeInsight } from '../insights/insight-results.ts'
import { backgroundCall } from '../member-calls.ts'
import { queryEvents } from '../queries/event-queries.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { FairRounds } from './fair-round.ts'
import { postMessage } from './webhook-messages.ts'

const LOOK_MS = 15_000
/** Alerts of one round; the others come with the next one. */
const ALERTS_PER_ROUND = 200
/** Events may be so late, at most as late as the interval is long. After that a lack of them is believed. */
const LATE_MS = 6 * HOUR_MS
/** The next try after late data, or after a message that did not arrive. */
const RETRY_MS = 10 * 60_000
/** Larger results are not read: the main thread would be held. */
const RESULT_BYTES_MAX = 2 * 1024 * 1024

/** Refusals that pass by themselves. */
const PASSING_CODES: ReadonlySet<string> = new Set(['storage_unavailable', 'throttled'])

/** The result of reading an alert's insight. */
type AlertReading =
  | { readonly kind: 'judged'; readonly point: AlertPoint; readonly verdict: AlertVerdict }
  /** Events are still on their way, or the server has no time now: the state stays. */
  | { readonly kind: 'later' }
  | { readonly kind: 'failed'; readonly reason: string }

type JudgedReading = Exclude<AlertReading, { readonly kind: 'later' }>

/**
 * Checks due alerts from `start` to `close`, those of a project one after the other (`fair-round.ts`). A server that was
 * off for a week checks each alert once. Messages are sent when a state changes, not with every check.
 */
export class AlertChecks extends PeriodicTask {
  readonly #app: AppContext
  /** Callbacks that end the wait for a receiver at `close`. */
  readonly #stops = new Set<() => void>()

  constructor(app: AppContext) {
    const rounds = new FairRounds<Alert>({
      listDue: () => listDueAlerts(app.control, app.now(), ALERTS_PER_ROUND),
      serve: (alert) => this.#check(alert),
      isOpen: () => this.is_open,
      log: app.log,
    })
    super({ every_ms: LOOK_MS, failure: 'alerts cannot be checked', log: app.log }, () => {
      releaseAlerts(app.control, app.now())
      return rounds.run(ALERTS_PER_ROUND)
    })
    this.#app = app
  }

  /** Resolves without waiting for receivers: messages that did not arrive are sent after the next start. */
  override close(): Promise<void> {
    const closed = super.close()
    for (const stop of this.#stops) stop()
    return closed
  }

  async #check(alert: Alert): Promise<void> {
    const app = this.#app
    const now = app.now()
    if (alert.skip_weekend && isWeekend(app, alert.project_id)) {
      const next_check_at = new Date(now.getTime() + HOUR_MS)
      recordCheck(app.control, alert, { alert: { next_check_at }, check: null })
      return
    }
    const insight = getInsight(app.control, alert.project_id, alert.insight_id)
    const reading = await readAlert(app, alert, insight)
    // A stop ends queries too.
    if (!this.is_open) return
    if (reading.kind === 'later') {
      const next_check_at = new Date(now.getTime() + RETRY_MS)
      recordCheck(app.control, alert, { alert: { next_check_at }, check: null })
      return
    }
    const state = stateOf(reading)
    const message = messageOf(app, { alert, insight, reading, state })
    const is_news = isNews(alert, state) && alert.webhook_url !== null
    const sent = is_news ? await this.#post(alert.webhook_url, message) : null
    if (this.is_open) recordCheck(app.control, alert, checkRecord(alert, reading, sent, now))
  }

  /** Posts a message; null if `close` comes first. */
  #post(address: string | null, message: object): Promise<PostResult | null> {
    const { promise, resolve } = Promise.withResolvers<PostResult | null>()
    const stop = (): void => resolve(null)
    this.#stops.add(stop)
    void postMessage(this.#app, address ?? '', message)
      .then(resolve)
      .finally(() => this.#stops.delete(stop))
    return promise
  }
}

/** Whether it is Saturday or Sunday by the clocks of a project. */
function isWeekend(app: AppContext, project_id: number): boolean {
  const project = findProject(app.control, project_id)
  if (project === null) return false
  const now = app.now()
  const local = localDate(BigInt(now.getTime()) * 1000n, projectDates(project, now))
  return local.getUTCDay() === 0 || local.getUTCDay() === 6
}

/** The changes that a check makes. `sent` is null when no message was due. */
function checkRecord(
  alert: Alert,
  reading: JudgedReading,
  sent: PostResult | null,
  now: Date,
): CheckRecord {
  const state = stateOf(reading)
  const is_told = sent === null || sent.kind !== 'failed'
  const every_ms = ALERT_INTERVALS_MS[alert.calculation_interval]
  const is_notified = sent?.kind === 'delivered'
  const faults = [
    reading.kind === 'failed' ? reading.reason : null,
    sent === null || sent.kind === 'delivered' ? null : `The webhook: ${sent.reason}.`,
  ].filter((fault) => fault !== null)
  return {
    alert: {
      state,
      snoozed_until: null,
      last_checked_at: now,
      next_check_at: new Date(now.getTime() + (is_told ? every_ms : Math.min(every_ms, RETRY_MS))),
      ...(is_told && { notified_state: state }),
      ...(is_notified && { last_notified_at: now }),
    },
    check: {
      created_at: now,
      calculated_value: reading.kind === 'judged' ? reading.point.value : null,
      state,
      error: faults.length === 0 ? null : faults.join(' '),
      is_notified,
    },
  }
}

/** Whether a state is worth a message: a changed one, and firing by a rule that was changed since the last message. */
function isNews({ state: before, notified_state }: Alert, state: AlertState): boolean {
  return state !== notified_state || (state === 'Firing' && before !== 'Firing')
}

function stateOf(reading: JudgedReading): AlertState {
  if (reading.kind === 'failed') return 'Errored'
  return reading.verdict.is_breached ? 'Firing' : 'Not firing'
}

async function readAlert(
  app: AppContext,
  alert: Alert,
  insight: SavedInsight,
): Promise<AlertReading> {
  try {
    const { project_id, created_by: user_id } = alert
    if (!isTrend(insight)) return { kind: 'failed', reason: 'The insight is no longer a trend.' }
    const call = backgroundCall(app, { id: `alert ${alert.id}`, user_id, project_id })
    const { result, query_status } = await computeInsight(app, call, insight, {
      mode: 'force_blocking',
    })
    if (result === null) return failedReading(query_status)
    if (result.bytes.length > RESULT_BYTES_MAX) {
      return { kind: 'failed', reason: 'The insight has too many series for an alert.' }
    }
    return await readSeries(app, { call, alert, interval: intervalOf(insight) }, result.toJSON())
  } catch (error) {
    if (!(error instanceof Refusal)) {
      app.log.error({ err: error, alert_id: alert.id }, 'an alert cannot be checked')
      return { kind: 'failed', reason: 'Something went wrong on our side.' }
    }
    const is_passing = PASSING_CODES.has(error.code)
    return is_passing ? { kind: 'later' } : { kind: 'failed', reason: error.detail }
  }
}

function failedReading(query_status: unknown): AlertReading {
  const { error_message } = Object(query_status) as { readonly error_message?: unknown }
  const reason = typeof error_message === 'string' ? error_message : 'The insight has no result.'
  return { kind: 'failed', reason }
}

/** The members of a line of a trend. */
type TrendLine = {
  readonly data?: readonly number[]
  readonly days?: readonly string[]
  readonly aggregated_value?: number
}

type SeriesReading = {
  readonly call: QueryCall
  readonly alert: Alert
  readonly interval: Interval
}

async function readSeries(
  app: AppContext,
  { call, alert, interval }: SeriesReading,
  result: unknown,
): Promise<AlertReading> {
  const { series_index, check_ongoing_interval } = alert.config
  const line: TrendLine | undefined = Array.isArray(result) ? result[series_index] : undefined
  if (line === undefined) {
    return { kind: 'failed', reason: `The insight has no series ${series_index + 1}.` }
  }
  const rule = { condition: alert.condition_type, threshold: alert.threshold }
  const { data = [], days = [], aggregated_value } = line
  if (data.length === 0) {
    const point = { value: aggregated_value ?? 0, before: null }
    return { kind: 'judged', point, verdict: judgePoint(rule, point) }
  }
  const current = openBucket(days, interval, projectDates(call.project, app.now()))
  const is_ongoing = check_ongoing_interval === true && current !== null
  const index = data.length - (current === null || is_ongoing ? 1 : 2)
  const last = judgeAt(rule, data, index)
  if (last === null) {
    return { kind: 'failed', reason: 'The range of the insight has no interval that is over.' }
  }
  const { verdict } = last
  const is_unsure = verdict.is_breached && verdict.is_by_lack && current !== null
  if (!is_unsure) return last
  // An interval that is not over yet will get more events.
  if (is_ongoing) return { ...last, verdict: { ...verdict, is_breached: false } }
  const { open_ms, length_ms, start } = current
  if (open_ms > LATE_MS || (await hasEventsSince(app, call, start))) return last
  // Of short intervals the next one is over before a lack is believed: the one before has been over for long enough.
  const earlier = length_ms <= LATE_MS ? judgeAt(rule, data, index - 1) : null
  return earlier?.verdict.is_breached === true ? earlier : { kind: 'later' }
}

type SeriesVerdict = Extract<AlertReading, { readonly kind: 'judged' }>

/** Judges one interval of a line; null where the line has none there. */
function judgeAt(rule: AlertRule, data: readonly number[], index: number): SeriesVerdict | null {
  const value = data[index]
  if (value === undefined) return null
  const point = { value, before: data[index - 1] ?? null }
  return { kind: 'judged', point, verdict: judgePoint(rule, point) }
}

/** The interval that is not over yet: its start in UTC, its length, and since when it is open. */
type OpenBucket = { readonly start: string; readonly length_ms: number; readonly open_ms: number }

/** Finds the last of a line's intervals if it is not over; null for a range that ended before. */
function openBucket(
  days: readonly string[],
  interval: Interval,
  dates: InsightDates,
): OpenBucket | null {
  const last = days.at(-1)
  if (last === undefined) return null
  const present_us = stepStart(BigInt(dates.now.getTime()) * 1000n, interval, dates)
  // In autumn an hour comes twice: the same text is two intervals, and the present one may be the second.
  const is_present = isoLocal(present_us, dates).replace('T', ' ').startsWith(last)
  const start_us = is_present ? present_us : readDate(last, dates, 'insight')
  const length_ms = Number((stepAfter(start_us, 1, { interval, dates }) - start_us) / 1000n)
  const open_ms = dates.now.getTime() - Number(start_us / 1000n)
  if (open_ms >= length_ms) return null
  return { start: new Date(Number(start_us / 1000n)).toISOString(), length_ms, open_ms }
}

/** Whether alerts are possible on an insight. */
export function isTrend({ query }: SavedInsight): boolean {
  const { source, kind } = Object(query) as { source?: { kind?: unknown }; kind?: unknown }
  return kind === 'TrendsQuery' || source?.kind === 'TrendsQuery'
}

/** The interval of an insight's lines; a trend without one is by day. */
function intervalOf({ query }: SavedInsight): Interval {
  const { source, interval } = Object(query) as {
    readonly source?: { readonly interval?: Interval | null }
    readonly interval?: Interval | null
  }
  return source?.interval ?? interval ?? 'day'
}

/** Whether any event of the project happened since an instant: then those before it have arrived, as far as is known. */
async function hasEventsSince(
  app: AppContext,
  { project, request }: QueryCall,
  since: string,
): Promise<boolean> {
  const query = 'select 1 from events where timestamp >= toDateTime({since}) limit 1'
  const rows = await queryEvents(app, { project, request, values: { since } }, query)
  return rows.length > 0
}

type AlertNews = {
  readonly alert: Alert
  readonly insight: SavedInsight
  readonly reading: AlertReading
  readonly state: AlertState
}

/** The message of a changed state. Chat programs show `text`. */
function messageOf(app: AppContext, { alert, insight, reading, state }: AlertNews): object {
  const judged = reading.kind === 'judged' ? reading : null
  const { project_id, name } = alert
  const url = `${app.publicUrl()}/p/${project_id}/insights/${insight.short_id}`
  const title = name || insight.name || 'Alert'
  const outcome =
    reading.kind === 'failed' ? reading.reason : `value ${judged?.point.value ?? 'unknown'}`
  return {
    type: 'alert',
    text: `${title}: ${state} – ${outcome} (${url})`,
    state,
    alert: { id: alert.id, name },
    project_id,
    insight: { id: insight.id, short_id: insight.short_id, name: insight.name, url },
    value: judged?.point.value ?? null,
    value_before: judged?.point.before ?? null,
    compared: judged?.verdict.compared ?? null,
    condition: { type: alert.condition_type },
    threshold: { configuration: alert.threshold },
    error: reading.kind === 'failed' ? reading.reason : null,
    checked_at: app.now().toISOString(),
  }
}
