/** Subscriptions: dashboards that are posted to a webhook every day, week or month. */
import { and, asc, desc, eq, lte, or, sql } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import { requireRoom } from '../projects/quota.ts'
import { flag, timestamp } from '../projects/tables.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { DAY_MS, DAY_US, US_PER_MS } from '../time.ts'
import { type BoardEditor, changedMembers, recordBoardEdit } from './board-editor.ts'
import { dashboards } from './tables.ts'

type DeliveryFrequency = 'daily' | 'weekly' | 'monthly'

const subscriptions = sqliteTable('subscriptions', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  dashboard_id: integer().notNull(),
  title: text(),
  /** The address of the webhook. */
  target_value: text().notNull(),
  frequency: text().$type<DeliveryFrequency>().notNull(),
  /** Days, weeks or months from one delivery to the next. */
  interval: integer().notNull(),
  start_date: timestamp().notNull(),
  next_delivery_date: timestamp().notNull(),
  last_delivery_date: timestamp(),
  /** The error of the last delivery; null when it arrived. */
  last_error: text(),
  deleted: flag().notNull().default(false),
  created_by: integer().notNull(),
  created_at: timestamp().notNull(),
})

export type Subscription = typeof subscriptions.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type SubscriptionChanges = Partial<
  Pick<Subscription, 'deleted' | 'frequency' | 'interval' | 'start_date' | 'target_value' | 'title'>
>

/** Creates a subscription. The first delivery is at its start, or at the next time of its schedule. */
export function createSubscription(
  editor: BoardEditor,
  wanted: SubscriptionChanges & Pick<Subscription, 'dashboard_id' | 'frequency' | 'target_value'>,
  now: Date,
): Subscription {
  const { control, project, user_id } = editor
  const schedule = { interval: 1, start_date: now, ...wanted }
  return control.transaction((tx) => {
    const made = tx
      .insert(subscriptions)
      .values({
        ...schedule,
        project_id: project.id,
        next_delivery_date: nextDelivery(schedule, now, true),
        created_by: user_id,
        created_at: now,
      })
      .returning()
      .get()
    requireRoom(tx, subscriptions, editor)
    const edit = { scope: 'Subscription', before: null, after: loggedSubscription(made) } as const
    recordBoardEdit(tx, editor, edit, now)
    return made
  })
}

/**
 * Changes a subscription; deleting is a change of `deleted`. A changed schedule counts from now on. With another address it
 * posts in the name of its editor: the author may see more than the new receiver should.
 */
export function updateSubscription(
  editor: BoardEditor,
  before: Subscription,
  sent: SubscriptionChanges,
  now: Date,
): Subscription {
  const wanted = changedMembers(before, sent)
  if (Object.keys(wanted).length === 0) return before
  const schedule = { ...before, ...wanted }
  const is_readdressed = wanted.target_value !== undefined
  const is_moved =
    wanted.frequency !== undefined ||
    wanted.interval !== undefined ||
    wanted.start_date !== undefined
  return editor.control.transaction((tx) => {
    const after = tx
      .update(subscriptions)
      .set({
        ...wanted,
        ...(is_readdressed && { created_by: editor.user_id }),
        ...(is_moved && { next_delivery_date: nextDelivery(schedule, now, false) }),
      })
      .where(eq(subscriptions.id, before.id))
      .returning()
      .get()
    const edit = {
      scope: 'Subscription',
      before: loggedSubscription(before),
      after: loggedSubscription(after),
    } as const
    recordBoardEdit(tx, editor, edit, now)
    return after
  })
}

/** A subscription as the activity log records it, without its address, which may contain a secret. */
function loggedSubscription({ id, title, frequency, interval, start_date, deleted }: Subscription) {
  return { id, name: title, frequency, interval, start_date: start_date.toISOString(), deleted }
}

const DAYS = { daily: 1, weekly: 7 } as const

type Schedule = Pick<Subscription, 'frequency' | 'interval' | 'start_date'>

/** The first time of a schedule after `now`, or at it with `is_now_included`. Months keep the day, or end with their last one. */
export function nextDelivery(
  { frequency, interval, start_date }: Schedule,
  now: Date,
  is_now_included: boolean,
): Date {
  const isDue = (at: Date): boolean => (is_now_included ? at >= now : at > now)
  if (frequency !== 'monthly') {
    const step_ms = DAYS[frequency] * interval * DAY_MS
    const passed = Math.max(0, Math.ceil((now.getTime() - start_date.getTime()) / step_ms))
    const at = new Date(start_date.getTime() + passed * step_ms)
    return isDue(at) ? at : new Date(at.getTime() + step_ms)
  }
  const years = now.getUTCFullYear() - start_date.getUTCFullYear()
  const months = Math.max(0, years * 12 + now.getUTCMonth() - start_date.getUTCMonth())
  let step = Math.floor(months / interval)
  while (!isDue(addMonths(start_date, step * interval))) step += 1
  return addMonths(start_date, step * interval)
}

function addMonths(start: Date, months: number): Date {
  const at = new Date(start)
  at.setUTCDate(1)
  at.setUTCMonth(at.getUTCMonth() + months)
  const last_day = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate()
  at.setUTCDate(Math.min(start.getUTCDate(), last_day))
  return at
}

/** Lists a project's subscriptions that are not deleted, the newest first. */
export function listSubscriptions(db: ControlDB, project_id: number): readonly Subscription[] {
  const its = and(eq(subscriptions.project_id, project_id), eq(subscriptions.deleted, false))
  return db.select().from(subscriptions).where(its).orderBy(desc(subscriptions.id)).all()
}

/** Returns a subscription of a project, deleted or not. Refuses a missing one. */
export function getSubscription(db: ControlDB, project_id: number, id: number): Subscription {
  const its = and(eq(subscriptions.project_id, project_id), eq(subscriptions.id, id))
  const found = db.select().from(subscriptions).where(its).get()
  if (found === undefined) throw new Refusal('not_found', 'Not found.')
  return found
}

/**
 * Sets the next deliveries by `now` where they are more than one period away: they were set by a clock that was ahead. A
 * schedule waits for its start, unless that is its time of creation by such a clock.
 */
export function rescheduleDeliveries(db: ControlDB, now: Date): void {
  const { id, deleted, start_date, next_delivery_date, frequency, interval, created_at } =
    subscriptions
  const now_us = now.getTime() * US_PER_MS
  const period_us = sql`${interval} * case ${frequency} when 'daily' then 1 when 'weekly' then 7 else 31 end * ${Number(DAY_US)}`
  const is_too_far = sql`${next_delivery_date} > max(${start_date}, ${now_us}) + ${period_us}`
  const starts_ahead = sql`(${start_date} = ${created_at} and ${created_at} > ${now_us})`
  const its = and(eq(deleted, false), or(is_too_far, starts_ahead))
  for (const stored of db.select().from(subscriptions).where(its).all()) {
    const { created_at: made_at } = stored
    const is_ahead = made_at > now && stored.start_date.getTime() === made_at.getTime()
    const schedule = is_ahead ? { ...stored, start_date: now } : stored
    db.update(subscriptions)
      .set({
        start_date: schedule.start_date,
        next_delivery_date: nextDelivery(schedule, now, true),
      })
      .where(eq(id, stored.id))
      .run()
  }
}

/** Lists subscriptions whose time has come, of dashboards that are not deleted: the longest due of each project first. */
export function listDueSubscriptions(
  db: ControlDB,
  now: Date,
  limit: number,
): readonly Subscription[] {
  const due = and(
    eq(subscriptions.deleted, false),
    lte(subscriptions.next_delivery_date, now),
    eq(dashboards.deleted, false),
  )
  return db
    .select({ subscription: subscriptions })
    .from(subscriptions)
    .innerJoin(dashboards, eq(dashboards.id, subscriptions.dashboard_id))
    .where(due)
    .orderBy(
      sql`row_number() over (partition by ${subscriptions.project_id} order by ${subscriptions.next_delivery_date})`,
      asc(subscriptions.next_delivery_date),
      asc(subscriptions.id),
    )
    .limit(limit)
    .all()
    .map(({ subscription }) => subscription)
}

/**
 * Stores the outcome of a delivery, and the time of the next one: those that a stopped server has missed are left out. A
 * schedule that was changed meanwhile stays.
 */
export function recordDelivery(
  db: ControlDB,
  { id, next_delivery_date: due, ...schedule }: Subscription,
  last_error: string | null,
  now: Date,
): void {
  const delivered = last_error === null ? { last_delivery_date: now } : {}
  const its = eq(subscriptions.id, id)
  db.transaction((tx) => {
    tx.update(subscriptions)
      .set({ ...delivered, last_error })
      .where(its)
      .run()
    tx.update(subscriptions)
      .set({ next_delivery_date: nextDelivery(schedule, now, false) })
      .where(and(its, eq(subscriptions.next_delivery_date, due)))
      .run()
  })
}
