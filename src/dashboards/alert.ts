/** Alerts: rules on one series of an insight, their state, and the history of their checks. */
import { and, asc, desc, eq, inArray, isNull, lt, lte, sql } from 'drizzle-orm'
import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import { requireRoom } from '../projects/quota.ts'
import { flag, type Json, timestamp } from '../projects/tables.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { DAY_MS, HOUR_MS, US_PER_MS } from '../time.ts'
import type { AlertCondition, AlertThreshold } from './alert-verdict.ts'
import {
  afterEditOf,
  type BoardEditor,
  changedMembers,
  isOneOf,
  recordBoardEdit,
} from './board-editor.ts'
import { insights } from './tables.ts'

/** INTERVALS: how often an alert may be checked, in ms. */
export const ALERT_INTERVALS_MS = {
  hourly: HOUR_MS,
  daily: DAY_MS,
  weekly: 7 * DAY_MS,
  monthly: 30 * DAY_MS,
} as const
type AlertInterval = keyof typeof ALERT_INTERVALS_MS

const ALERT_STATES = ['Firing', 'Not firing', 'Errored', 'Snoozed'] as const
export type AlertState = (typeof ALERT_STATES)[number]

type AlertConfig = {
  readonly type: 'TrendsAlertConfig'
  readonly series_index: number
  /** Judges the interval that is not over yet too. */
  readonly check_ongoing_interval?: boolean | null
}

const alerts = sqliteTable('alerts', {
  id: text().primaryKey(),
  project_id: integer().notNull(),
  insight_id: integer().notNull(),
  name: text().notNull(),
  condition_type: text().$type<AlertCondition>().notNull(),
  threshold: text({ mode: 'json' }).$type<AlertThreshold>().notNull(),
  config: text({ mode: 'json' }).$type<AlertConfig>().notNull(),
  calculation_interval: text().$type<AlertInterval>().notNull(),
  webhook_url: text(),
  enabled: flag().notNull(),
  skip_weekend: flag().notNull().default(false),
  state: text().$type<AlertState>().notNull(),
  notified_state: text().$type<AlertState>().notNull(),
  snoozed_until: timestamp(),
  next_check_at: timestamp().notNull(),
  last_checked_at: timestamp(),
  last_notified_at: timestamp(),
  created_by: integer().notNull(),
  created_at: timestamp().notNull(),
})

const alert_checks = sqliteTable('alert_checks', {
  id: integer().primaryKey({ autoIncrement: true }),
  alert_id: text().notNull(),
  created_at: timestamp().notNull(),
  calculated_value: real(),
  state: text().$type<AlertState>().notNull(),
  error: text(),
  is_notified: flag().notNull(),
})

export type Alert = typeof alerts.$inferSelect
type AlertCheck = typeof alert_checks.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type AlertChanges = Partial<
  Pick<
    Alert,
    | 'calculation_interval'
    | 'condition_type'
    | 'config'
    | 'enabled'
    | 'insight_id'
    | 'name'
    | 'skip_weekend'
    | 'snoozed_until'
    | 'threshold'
    | 'webhook_url'
  >
>

/** Checks that are stored of each alert. */
const CHECKS_KEPT = 100

/** Creates an alert, which is checked at once. Refuses one more than a project may have. */
export function createAlert(
  editor: BoardEditor,
  wanted: AlertChanges & Pick<Alert, 'condition_type' | 'config' | 'insight_id' | 'threshold'>,
  now: Date,
): Alert {
  const { control, project, user_id } = editor
  return control.transaction((tx) => {
    const alert = tx
      .insert(alerts)
      .values({
        name: '',
        calculation_interval: 'daily',
        enabled: true,
        ...wanted,
        id: Bun.randomUUIDv7(),
        project_id: project.id,
        state: 'Not firing',
        notified_state: 'Not firing',
        next_check_at: now,
        created_by: user_id,
        created_at: now,
      })
      .returning()
      .get()
    requireRoom(tx, alerts, editor)
    recordBoardEdit(
      tx,
      editor,
      { scope: 'AlertConfiguration', before: null, after: loggedAlert(alert) },
      now,
    )
    return alert
  })
}

/**
 * Changes an alert. A changed rule starts over: it is checked at once, from the state "Not firing". With another rule or
 * address it is computed in the name of its editor: the author may see more than the new receiver should.
 */
export function updateAlert(
  editor: BoardEditor,
  before: Alert,
  sent: AlertChanges,
  now: Date,
): Alert {
  const wanted = changedMembers(before, sent)
  if (Object.keys(wanted).length === 0) return before
  const is_rule = RULE_MEMBERS.some((name) => wanted[name] !== undefined)
  const is_retold = is_rule || Boolean(wanted.webhook_url)
  const is_woken = wanted.snoozed_until === null
  const restart =
    is_rule || is_woken ? ({ state: 'Not firing', next_check_at: now } as const) : undefined
  // A breach that outlasts the pause is sent again.
  const snoozed = sent.snoozed_until
    ? ({
        state: 'Snoozed',
        notified_state: 'Not firing',
        next_check_at: sent.snoozed_until,
      } as const)
    : undefined
  return editor.control.transaction((tx) => {
    const after = tx
      .update(alerts)
      .set({
        ...wanted,
        ...restart,
        ...snoozed,
        ...(is_retold && { created_by: editor.user_id }),
      })
      .where(eq(alerts.id, before.id))
      .returning()
      .get()
    const edit = {
      scope: 'AlertConfiguration',
      before: loggedAlert(before),
      after: loggedAlert(after),
    } as const
    recordBoardEdit(tx, editor, edit, now)
    return after
  })
}

const RULE_MEMBERS = [
  'calculation_interval',
  'condition_type',
  'config',
  'enabled',
  'insight_id',
  'threshold',
] as const

/** Deletes an alert with its history. */
export function deleteAlert(editor: BoardEditor, before: Alert, now: Date): void {
  editor.control.transaction((tx) => {
    const after = { ...loggedAlert(before), deleted: true }
    recordBoardEdit(
      tx,
      editor,
      { scope: 'AlertConfiguration', before: loggedAlert(before), after },
      now,
    )
    tx.delete(alerts).where(eq(alerts.id, before.id)).run()
  })
}

/** The members of an alert that its editors set. Its address is not logged: it may contain a secret. */
function loggedAlert(alert: Alert) {
  const { webhook_url, snoozed_until, threshold, ...members } = alert
  const { id, name, condition_type, config, calculation_interval, insight_id } = members
  const { enabled, skip_weekend } = members
  return {
    id,
    name,
    condition_type,
    config,
    calculation_interval,
    enabled,
    skip_weekend,
    insight_id,
    threshold: threshold as unknown as Json,
    snoozed_until: snoozed_until?.toISOString() ?? null,
    has_webhook: webhook_url !== null,
    deleted: false,
  }
}

/**
 * Lists the ids of a project's alerts on insights that are not deleted, the newest first. 20,000 whole alerts would take
 * 90 ms.
 */
export function listAlertIds(
  db: ControlDB,
  project_id: number,
): readonly Pick<Alert, 'id' | 'insight_id'>[] {
  const { id, insight_id } = alerts
  const present = db
    .select({ id: insights.id })
    .from(insights)
    .where(and(eq(insights.project_id, project_id), eq(insights.deleted, false)))
  return db
    .select({ id, insight_id })
    .from(alerts)
    .where(and(eq(alerts.project_id, project_id), inArray(insight_id, present)))
    .orderBy(desc(id))
    .all()
}

/** Reads alerts by their ids. */
export function readAlerts(db: ControlDB, ids: readonly string[]): ReadonlyMap<string, Alert> {
  const rows = db.select().from(alerts).where(isOneOf(alerts.id, ids)).all()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Returns an alert of a project. Refuses a missing one. */
export function getAlert(db: ControlDB, project_id: number, id: string): Alert {
  const its = and(eq(alerts.project_id, project_id), eq(alerts.id, id))
  const alert = db.select().from(alerts).where(its).get()
  if (alert === undefined) throw new Refusal('not_found', 'Not found.')
  return alert
}

/** Lists the checks of an alert, the newest first. */
export function listChecks(db: ControlDB, alert_id: string, limit: number): readonly AlertCheck[] {
  return db
    .select()
    .from(alert_checks)
    .where(eq(alert_checks.alert_id, alert_id))
    .orderBy(desc(alert_checks.id))
    .limit(limit)
    .all()
}

/**
 * Narrows the alerts of insights that a member has changed, who reads their values: they go on in the editor's name, or
 * end, as `afterEditOf` says.
 */
export function narrowAlertsOf(editor: BoardEditor, insight_ids: readonly number[]): void {
  const { control, user_id } = editor
  const theirs = isOneOf(alerts.insight_id, insight_ids)
  const authors = control.selectDistinct({ id: alerts.created_by }).from(alerts).where(theirs)
  for (const author of authors.all()) {
    const next = afterEditOf(editor, author.id)
    if (next === 'stays') continue
    control
      .update(alerts)
      .set(next === 'ends' ? { enabled: false } : { created_by: user_id })
      .where(and(theirs, eq(alerts.created_by, author.id)))
      .run()
  }
}

/**
 * Makes alerts due whose next check is more than their interval away: it was set by a clock that was ahead. The end of a
 * pause stays.
 */
export function releaseAlerts(db: ControlDB, now: Date): void {
  const { calculation_interval, enabled, next_check_at, snoozed_until } = alerts
  const lengths = Object.entries(ALERT_INTERVALS_MS).map(
    ([interval, ms]) => sql`when ${interval} then ${ms * US_PER_MS} `,
  )
  const every_us = sql`case ${calculation_interval} ${sql.join(lengths)} end`
  const is_too_far = sql`${next_check_at} > ${now.getTime() * US_PER_MS} + ${every_us}`
  db.update(alerts)
    .set({ next_check_at: now })
    .where(and(eq(enabled, true), isNull(snoozed_until), is_too_far))
    .run()
}

/** Lists enabled alerts whose time has come: the longest due of each project, then the second of each. */
export function listDueAlerts(db: ControlDB, now: Date, limit: number): readonly Alert[] {
  return db
    .select({ alert: alerts })
    .from(alerts)
    .innerJoin(insights, eq(insights.id, alerts.insight_id))
    .where(
      and(eq(alerts.enabled, true), lte(alerts.next_check_at, now), eq(insights.deleted, false)),
    )
    .orderBy(
      sql`row_number() over (partition by ${alerts.project_id} order by ${alerts.next_check_at})`,
      asc(alerts.next_check_at),
      asc(alerts.id),
    )
    .limit(limit)
    .all()
    .map(({ alert }) => alert)
}

/** The changes that a check makes: the alert's state and times, and a line of its history. */
export type CheckRecord = {
  readonly alert: Partial<
    Pick<
      Alert,
      | 'last_checked_at'
      | 'last_notified_at'
      | 'next_check_at'
      | 'notified_state'
      | 'snoozed_until'
      | 'state'
    >
  >
  /** Null where nothing was judged. */
  readonly check: Omit<AlertCheck, 'alert_id' | 'id'> | null
}

/** Stores a check, unless the alert was changed or deleted meanwhile: then it is checked again. */
export function recordCheck(db: ControlDB, before: Alert, { alert, check }: CheckRecord): void {
  db.transaction((tx) => {
    const current = tx.select().from(alerts).where(eq(alerts.id, before.id)).get()
    if (current?.next_check_at.getTime() !== before.next_check_at.getTime()) return
    tx.update(alerts).set(alert).where(eq(alerts.id, before.id)).run()
    if (check === null) return
    tx.insert(alert_checks)
      .values({ ...check, alert_id: before.id })
      .run()
    const oldest = tx
      .select({ id: alert_checks.id })
      .from(alert_checks)
      .where(eq(alert_checks.alert_id, before.id))
      .orderBy(desc(alert_checks.id))
      .limit(1)
      .offset(CHECKS_KEPT)
      .get()
    if (oldest === undefined) return
    const old = and(eq(alert_checks.alert_id, before.id), lt(alert_checks.id, oldest.id + 1))
    tx.delete(alert_checks).where(old).run()
  })
}

/** The insights of some ids that are the project's and not deleted. */
export function listInsightNames(
  db: ControlDB,
  ids: readonly number[],
): ReadonlyMap<
  number,
  { readonly id: number; readonly short_id: string; readonly name: string | null }
> {
  const { id, short_id, name } = insights
  const rows = db
    .select({ id, short_id, name })
    .from(insights)
    .where(inArray(id, [...ids]))
    .all()
  return new Map(rows.map((row) => [row.id, row]))
}
