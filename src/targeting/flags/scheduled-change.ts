/** Scheduled changes of flags: create, change, pause, delete. */

import { and, asc, desc, eq, isNull, sql } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { findSets } from '../../flags/plan.ts'
import { isObject } from '../../json.ts'
import { requireRoom } from '../../projects/quota.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { readOneByOne } from '../../threads/sliced-json.ts'
import type { TargetingEditor } from '../shared/editor.ts'
import { scheduled_changes } from '../tables.ts'
import { type Flag, type FlagChanges, getFlag } from './flag.ts'
import { isCron, nextTime } from './recurrence.ts'

export type ScheduledChange = typeof scheduled_changes.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type ScheduleChanges = {
  readonly payload?: unknown
  readonly scheduled_at?: Date
  readonly is_recurring?: boolean
  readonly recurrence_interval?: ScheduledChange['recurrence_interval']
  readonly cron_expression?: string | null
  readonly end_date?: Date | null
}

type ScheduledOperation = (flag: Pick<Flag, 'filters'>, value: unknown) => FlagChanges

/** OPERATIONS on a flag, by the `operation` of the payload. A line adds one. */
const OPERATIONS: Readonly<Record<string, ScheduledOperation>> = {
  update_status: (_flag, value) => {
    if (typeof value === 'boolean') return { active: value }
    throw refused('payload', 'The value of update_status must be true or false.')
  },
  add_release_condition: ({ filters }, value) => {
    const sets: unknown = isObject(value) ? value['groups'] : null
    if (!isObject(value) || !Array.isArray(sets) || sets.length === 0) {
      throw refused('payload', 'The value of add_release_condition must have a list of groups.')
    }
    const before = isObject(filters) ? filters : {}
    // An invalid definition is replaced.
    const groups = [...findSets(before), ...sets]
    return { filters: { ...before, ...addedParts(value, before), groups } }
  },
  update_variants: ({ filters }, value) => {
    const variants: unknown = isObject(value) ? value['variants'] : null
    if (!isObject(value) || !Array.isArray(variants)) {
      throw refused('payload', 'The value of update_variants must have a list of variants.')
    }
    const before = isObject(filters) ? filters : {}
    const multivariate = variants.length === 0 ? null : { variants }
    return { filters: { ...before, multivariate, payloads: value['payloads'] ?? {} } }
  },
}

/** Operations that add to the flag, and therefore must not recur. */
const ONCE_ONLY: ReadonlySet<string> = new Set(['add_release_condition'])

/** Returns the changes that a payload makes to a flag in its present state. Refuses unknown payloads. */
export function scheduledChanges(payload: unknown, flag: Pick<Flag, 'filters'>): FlagChanges {
  const operation: unknown = isObject(payload) ? payload['operation'] : null
  const is_operation = typeof operation === 'string' && Object.hasOwn(OPERATIONS, operation)
  const change = is_operation ? OPERATIONS[operation] : undefined
  if (change === undefined || !isObject(payload)) {
    const names = Object.keys(OPERATIONS).join(', ')
    throw refused('payload', `The payload needs an operation, one of: ${names}.`)
  }
  return change(flag, payload['value'])
}

/** Schedules a change of a flag. Refuses a change that could not be made, and inconsistent times. */
export function scheduleChange(
  editor: TargetingEditor & { readonly timezone: string },
  flag: Flag,
  input: ScheduleChanges & { readonly scheduled_at: Date; readonly payload: unknown },
  now: Date,
): ScheduledChange {
  const { control, project, user_id, timezone } = editor
  const { recurrence_interval = null, cron_expression = null, end_date = null } = input
  const draft = {
    project_id: project.id,
    flag_id: flag.id,
    payload: input.payload as Json,
    scheduled_at: input.scheduled_at,
    is_recurring: input.is_recurring ?? false,
    recurrence_interval,
    cron_expression,
    end_date,
    timezone,
    created_by: user_id,
    created_at: now,
    updated_at: now,
  }
  if (flag.deleted) throw refused('record_id', 'The feature flag has been deleted.')
  scheduledChanges(draft.payload, flag)
  requireTimes(draft)
  if (!draft.is_recurring && hasRecurrence(draft)) {
    const attr = cron_expression === null ? 'recurrence_interval' : 'cron_expression'
    throw refused(attr, `Cannot set ${attr} when is_recurring is false for new schedules.`)
  }
  return control.transaction((tx) => {
    const change = tx.insert(scheduled_changes).values(draft).returning().get()
    requireRoom(tx, scheduled_changes, editor)
    return change
  })
}

/** Changes a scheduled change. Refuses an executed one. */
export function updateSchedule(
  editor: TargetingEditor,
  before: ScheduledChange,
  changes: ScheduleChanges,
  now: Date,
): ScheduledChange {
  if (before.executed_at !== null) {
    const detail = 'Cannot modify a scheduled change that has already executed.'
    throw new Refusal('invalid_input', detail)
  }
  const defined = Object.entries(changes).filter(([, value]) => value !== undefined)
  const draft: ScheduledChange = { ...before, ...Object.fromEntries(defined), updated_at: now }
  scheduledChanges(draft.payload, getFlag(editor.control, before.project_id, before.flag_id))
  requireTimes(draft)
  // Times that were missed during a pause are skipped, not made up for.
  const is_resumed = draft.is_recurring && !before.is_recurring && draft.scheduled_at <= now
  const next = is_resumed ? nextTime(draft, draft.scheduled_at, now) : draft.scheduled_at
  const times = next === null ? { executed_at: now } : { scheduled_at: next }
  return editor.control
    .update(scheduled_changes)
    .set({ ...draft, ...times })
    .where(eq(scheduled_changes.id, before.id))
    .returning()
    .get()
}

/** Deletes a scheduled change, executed or not. */
export function deleteSchedule(
  { control }: Pick<TargetingEditor, 'control'>,
  { id }: ScheduledChange,
): void {
  control.delete(scheduled_changes).where(eq(scheduled_changes.id, id)).run()
}

/** Returns the project's scheduled change with this id. Refuses when there is none. */
export function getScheduledChange(db: ControlDB, project_id: number, id: number): ScheduledChange {
  const its = and(eq(scheduled_changes.project_id, project_id), eq(scheduled_changes.id, id))
  const change = db.select().from(scheduled_changes).where(its).get()
  if (change === undefined) throw new Refusal('not_found', 'Not found.')
  return change
}

/**
 * Reads a project's scheduled changes, executed ones included, newest first, of one flag if it is given; one by one in
 * slices of the event loop.
 */
export async function readScheduledChanges(
  db: ControlDB,
  project_id: number,
  flag_id: number | null,
): Promise<readonly ScheduledChange[]> {
  const { id } = scheduled_changes
  const its = and(
    eq(scheduled_changes.project_id, project_id),
    flag_id === null ? undefined : eq(scheduled_changes.flag_id, flag_id),
  )
  const ids = db.select({ id }).from(scheduled_changes).where(its).orderBy(desc(id)).all()
  const one = db
    .select()
    .from(scheduled_changes)
    .where(eq(id, sql.placeholder('id')))
    .prepare()
  return readOneByOne(ids, (row) => one.get(row))
}

/** Lists a flag's scheduled changes that are still to come, oldest first. */
export function listPendingChanges(
  db: ControlDB,
  { project_id, id }: Flag,
): readonly ScheduledChange[] {
  const { flag_id, executed_at } = scheduled_changes
  const its = and(eq(scheduled_changes.project_id, project_id), eq(flag_id, id))
  return db
    .select()
    .from(scheduled_changes)
    .where(and(its, isNull(executed_at)))
    .orderBy(asc(scheduled_changes.id))
    .all()
    .filter((change) => !isPaused(change))
}

/** Whether a recurring change is paused. */
export function isPaused(
  change: Pick<ScheduledChange, 'cron_expression' | 'is_recurring' | 'recurrence_interval'>,
): boolean {
  return !change.is_recurring && hasRecurrence(change)
}

type ScheduleTimes = Pick<
  ScheduledChange,
  | 'cron_expression'
  | 'end_date'
  | 'is_recurring'
  | 'payload'
  | 'recurrence_interval'
  | 'scheduled_at'
  | 'timezone'
>

function hasRecurrence({
  recurrence_interval,
  cron_expression,
}: Pick<ScheduledChange, 'cron_expression' | 'recurrence_interval'>): boolean {
  return recurrence_interval !== null || cron_expression !== null
}

function requireTimes(draft: ScheduleTimes): void {
  const { cron_expression, recurrence_interval, is_recurring, end_date, scheduled_at } = draft
  if (cron_expression !== null && recurrence_interval !== null) {
    const detail = 'Cannot set both cron_expression and recurrence_interval. Use one or the other.'
    throw refused('cron_expression', detail)
  }
  if (is_recurring && !hasRecurrence(draft)) {
    const detail =
      'Either recurrence_interval or cron_expression is required when is_recurring is true.'
    throw refused('recurrence_interval', detail)
  }
  if (cron_expression !== null) requireCron(cron_expression, draft)
  const operation = isObject(draft.payload) ? draft.payload['operation'] : null
  if (is_recurring && typeof operation === 'string' && ONCE_ONLY.has(operation)) {
    const detail = `Recurring schedules are not supported for ${operation}: each run would add to the one before.`
    throw refused('payload', detail)
  }
  if (end_date !== null && end_date <= scheduled_at) {
    throw refused('end_date', 'End date must be after the scheduled start date.')
  }
}

function requireCron(text: string, { scheduled_at, timezone }: ScheduleTimes): void {
  const recurrence = {
    recurrence_interval: null,
    cron_expression: text,
    end_date: null,
    timezone,
  }
  if (!isCron(text)) {
    const detail =
      "Invalid cron expression. Use the five fields minute, hour, day of the month, month and weekday (e.g. '0 9 * * 1-5')."
    throw refused('cron_expression', detail)
  }
  if (nextTime(recurrence, scheduled_at, scheduled_at) !== null) return
  throw refused('cron_expression', 'This time never comes.')
}

/** Returns the variants and payloads that come with a condition set; existing ones stay. */
function addedParts(
  value: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { payloads, multivariate } = value
  const present = isObject(before['payloads']) ? before['payloads'] : {}
  return {
    ...(isObject(payloads) ? { payloads: { ...present, ...payloads } } : {}),
    ...(isObject(multivariate) ? { multivariate } : {}),
  }
}

function refused(attr: string, detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}
