/** Applies scheduled changes of flags at their time. */
import { and, asc, eq, isNull, lte } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { rightsOfUser } from '../../projects/rights/rights.ts'
import { findProject } from '../../projects/settings/project.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { editorFor, type TargetingEditor } from '../shared/editor.ts'
import { PeriodicTask } from '../shared/periodic-task.ts'
import { scheduled_changes } from '../tables.ts'
import { getFlag, updateFlag } from './flag.ts'
import type { FlagDefinitions } from './flag-definitions.ts'
import { nextTime } from './recurrence.ts'
import { isPaused, type ScheduledChange, scheduledChanges } from './scheduled-change.ts'

type FlagScheduleContext = {
  readonly control: ControlDB
  readonly flags: Pick<FlagDefinitions, 'expectChange' | 'readyFlagsOf'>
  readonly log: { readonly error: (fields: object, message: string) => void }
  readonly now: () => Date
}

const ROUND_MS = 15_000
/** A bug may pass, so it is retried; a refusal is not. */
const TRIES_MAX = 5

/** Looks for due changes from `start` to `close`; first for those that came due while the server was down. */
export class FlagSchedule extends PeriodicTask {
  readonly #context: FlagScheduleContext

  constructor(context: FlagScheduleContext) {
    const { log } = context
    const failure = 'planned changes of flags cannot be looked at'
    super({ every_ms: ROUND_MS, failure, log }, () => this.#applyDue())
    this.#context = context
  }

  async #applyDue(): Promise<void> {
    const now = this.#context.now()
    for (const id of this.#listDue(now)) {
      if (!this.is_open) return
      await this.#tryOne(id, now)
      await Bun.sleep(0)
    }
  }

  /** The ids of due changes; the payloads of all may be megabytes. */
  #listDue(now: Date): readonly number[] {
    const is_due = and(
      isNull(scheduled_changes.executed_at),
      lte(scheduled_changes.scheduled_at, now),
    )
    const { scheduled_at, id, is_recurring, recurrence_interval, cron_expression } =
      scheduled_changes
    return this.#context.control
      .select({ id, is_recurring, recurrence_interval, cron_expression })
      .from(scheduled_changes)
      .where(is_due)
      .orderBy(asc(scheduled_at), asc(id))
      .all()
      .flatMap((change) => (isPaused(change) ? [] : change.id))
  }

  async #tryOne(id: number, now: Date): Promise<void> {
    const change = this.#find(id)
    // It may have been deleted meanwhile.
    if (change === undefined) return
    try {
      await this.#apply(change, now)
    } catch (error) {
      if (!(error instanceof Refusal)) {
        const fields = { err: error, scheduled_change_id: change.id }
        this.#context.log.error(fields, 'a planned change of a flag failed')
      }
      this.#noteFailure(change, error, now)
    }
  }

  #find(id: number): ScheduledChange | undefined {
    const its = eq(scheduled_changes.id, id)
    return this.#context.control.select().from(scheduled_changes).where(its).get()
  }

  /** Whether a change is neither edited nor deleted since it was read. */
  #isUnchanged(change: ScheduledChange): boolean {
    return Bun.deepEquals(this.#find(change.id), change)
  }

  /** The change and its execution mark are one commit, so it happens exactly once. */
  async #apply(change: ScheduledChange, now: Date): Promise<void> {
    const { control } = this.#context
    const editor = await this.#editorOf(change)
    control.transaction(() => {
      // It may have been changed or deleted while definitions were read; the next round reads it again.
      if (!this.#isUnchanged(change)) return
      const flag = getFlag(control, change.project_id, change.flag_id)
      if (flag.deleted) {
        throw new Refusal('invalid_input', 'The feature flag has been deleted.')
      }
      updateFlag(editor, flag, scheduledChanges(change.payload, flag), now)
      this.#set(change, {
        ...nextExecution(change, now),
        last_executed_at: now,
        failures: 0,
        failure_reason: null,
      })
    })
  }

  #noteFailure(change: ScheduledChange, error: unknown, now: Date): void {
    const is_refused = error instanceof Refusal
    const failures = change.failures + 1
    const is_over = is_refused || failures >= TRIES_MAX
    const failure_reason = is_refused ? error.detail : 'Something went wrong on our side.'
    const times = is_over ? { ...nextExecution(change, now), failures: 0 } : { failures }
    // Of a change that was edited meanwhile, something else failed; the next round tries it.
    if (!this.#isUnchanged(change)) return
    this.#set(change, { ...times, failure_reason })
  }

  #set({ id }: ScheduledChange, fields: Partial<ScheduledChange>): void {
    const { control, now } = this.#context
    control
      .update(scheduled_changes)
      .set({ ...fields, updated_at: now() })
      .where(eq(scheduled_changes.id, id))
      .run()
  }

  /** The editor of a change is its author, with the author's rights of this moment. */
  async #editorOf({ project_id, created_by }: ScheduledChange): Promise<TargetingEditor> {
    const { control } = this.#context
    const project = findProject(control, project_id)
    if (project === null) throw new Refusal('not_found', 'The project is gone.')
    const editor = await editorFor(this.#context, project, created_by)
    return { ...editor, rights: rightsOfUser(control, editor.user_id, project) }
  }
}

/** The next execution; a change that does not recur is marked as executed. */
function nextExecution(change: ScheduledChange, now: Date): Partial<ScheduledChange> {
  const next = change.is_recurring ? nextTime(change, change.scheduled_at, now) : null
  return next === null ? { executed_at: now } : { scheduled_at: next }
}
