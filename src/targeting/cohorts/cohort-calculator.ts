/** Calculates dynamic cohorts in the background: after every change, and once a day. */
import { and, eq } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import type { CompiledFlags } from '../../flags/definition.ts'
import { FlagFailure } from '../../flags/failure.ts'
import { matchesFilter } from '../../flags/match.ts'
import { type FlagPerson, openSubject } from '../../flags/subject.ts'
import { Slices } from '../../threads/slices.ts'
import { DAY_MS, HOUR_MS } from '../../time.ts'
import type { FlagDefinitions } from '../flags/flag-definitions.ts'
import { PeriodicTask } from '../shared/periodic-task.ts'
import type { ListedPerson } from '../shared/person-reads.ts'
import { cohorts } from '../tables.ts'
import { hasBehavior } from './behavior.ts'
import { type BehavioralMembership, openMembership, type QueryEvents } from './behavioral-cohort.ts'
import { beginCalculation, dropUnfinished, endCalculation } from './cohort-history.ts'
import type { MemberContext } from './cohort-members.ts'

/** Dependencies of calculations, besides those of static cohorts. */
export type CalculatorContext = MemberContext & {
  readonly flags: Pick<FlagDefinitions, 'expectChange' | 'readyFlagsOf'>
  readonly log: { readonly error: (fields: object, message: string) => void }
  readonly now: () => Date
  /** Queries over events, for behavioral cohorts. */
  readonly queryEvents: QueryEvents
}

/** Persons per slice. */
const SLICE = 500
const CALCULATED_EVERY_MS = DAY_MS
/**
 * Behavioral cohorts are recalculated hourly, because every event changes them; other cohorts are evaluated
 * directly by each flag.
 */
const BEHAVIORAL_EVERY_MS = HOUR_MS
const ROUND_MS = 10 * 60_000

type DueCohort = Pick<typeof cohorts.$inferSelect, 'filters' | 'id' | 'project_id' | 'version'>

/**
 * One calculation at a time. From `start` on it looks for due cohorts every few minutes; `close` ends after the
 * current slice.
 */
export class CohortCalculator extends PeriodicTask {
  readonly #context: CalculatorContext

  constructor(context: CalculatorContext) {
    const { log } = context
    super({ every_ms: ROUND_MS, failure: 'due cohorts cannot be calculated', log }, () =>
      this.#calculateDue(),
    )
    this.#context = context
  }

  /** Cohorts whose calculation the process' end interrupted come first. */
  override start(): void {
    dropUnfinished(this.#context.control)
    super.start()
  }

  /** Calculates cohorts that changed since their last calculation, and those that are a day old. */
  async #calculateDue(): Promise<void> {
    const slices = new Slices()
    for (const id of this.#listCandidates()) {
      if (!this.is_open) return
      const cohort = this.#findDue(id)
      if (cohort !== null) await this.#calculate(cohort)
      if (slices.isOver()) await slices.end()
    }
  }

  /** Cohorts that may be due, by their ids: the conditions of all may be megabytes. */
  #listCandidates(): readonly number[] {
    const { id, version, calculated_version, last_calculation } = cohorts
    const now_ms = this.#context.now().getTime()
    const rows = this.#context.control
      .select({ id, version, calculated_version, last_calculation })
      .from(cohorts)
      .where(and(eq(cohorts.deleted, false), eq(cohorts.is_static, false)))
      .all()
    return rows.flatMap((row) => (isDue(row, BEHAVIORAL_EVERY_MS, now_ms) ? row.id : []))
  }

  /** The cohort with that id if it is due, with its conditions as they are now. */
  #findDue(id: number): DueCohort | null {
    const its = and(eq(cohorts.id, id), eq(cohorts.deleted, false))
    const cohort = this.#context.control.select().from(cohorts).where(its).get()
    if (cohort === undefined) return null
    const every_ms = hasBehavior(cohort.filters) ? BEHAVIORAL_EVERY_MS : CALCULATED_EVERY_MS
    return isDue(cohort, every_ms, this.#context.now().getTime()) ? cohort : null
  }

  async #calculate(cohort: DueCohort): Promise<void> {
    const { control, flags, log, now } = this.#context
    const set = (fields: Partial<typeof cohorts.$inferInsert>): void => {
      control.update(cohorts).set(fields).where(eq(cohorts.id, cohort.id)).run()
    }
    flags.expectChange()
    const { definitions } = await flags.readyFlagsOf(cohort.project_id)
    set({ is_calculating: true })
    const calculation = beginCalculation(control, cohort, now())
    try {
      const count = await this.#updateMembers(cohort, await this.#membershipOf(cohort, definitions))
      if (count === null) return
      endCalculation(control, calculation, { count, error: null }, now())
      set({
        is_calculating: false,
        calculated_version: cohort.version,
        count,
        errors_calculating: 0,
        last_calculation: now(),
      })
    } catch (err) {
      log.error({ err, cohort_id: cohort.id }, 'a cohort cannot be calculated')
      endCalculation(control, calculation, { count: null, error: reasonIn(err) }, now())
      const { errors_calculating } = cohorts
      const row = control
        .select({ errors_calculating })
        .from(cohorts)
        .where(eq(cohorts.id, cohort.id))
      const errors = row.get()?.errors_calculating ?? 0
      set({
        is_calculating: false,
        // The version counts as calculated after a failure too: the same conditions would only fail again.
        calculated_version: cohort.version,
        errors_calculating: errors + 1,
        last_calculation: now(),
      })
    }
  }

  #membershipOf(
    cohort: DueCohort,
    definitions: CompiledFlags,
  ): BehavioralMembership | Promise<BehavioralMembership> {
    if (hasBehavior(cohort.filters))
      return openMembership(definitions, cohort, this.#context.queryEvents)
    const filter = { kind: 'cohort', cohort_id: cohort.id, is_negated: false } as const
    return { definitions, isIn: (subject) => matchesFilter(filter, subject) }
  }

  /** Tests all persons and writes the differences; null when it was interrupted. */
  async #updateMembers(
    { id: cohort_id, project_id }: DueCohort,
    { definitions, isIn }: BehavioralMembership,
  ) {
    const { persons, rows, now } = this.#context
    let count = 0
    const slices = new Slices()
    let after: Uint8Array | null = null
    for (;;) {
      const slice: readonly ListedPerson[] = persons.listPersons(project_id, after, SLICE)
      const added: Uint8Array[] = []
      const removed: Uint8Array[] = []
      for (const person of slice) {
        const isMember = (id: number): boolean => persons.isInCohort(project_id, person.id, id)
        const subject = openSubject(subjectOf(person, isMember, now()), definitions)
        const is_in = isIn(subject, person.id)
        if (is_in) count += 1
        if (is_in !== isMember(cohort_id)) (is_in ? added : removed).push(person.id)
        if (slices.isOver()) await slices.end()
      }
      if (added.length + removed.length > 0) {
        await rows.changeCohort({ project_id, cohort_id, added, removed })
        persons.refresh()
      }
      after = slice.at(-1)?.id ?? null
      if (after === null) return count
      await slices.end()
      if (!this.is_open) return null
    }
  }
}

type CalculationState = Pick<
  typeof cohorts.$inferSelect,
  'calculated_version' | 'last_calculation' | 'version'
>

/** Whether a cohort changed since its last calculation, or that is too old, or from before the clock was set back. */
function isDue(cohort: CalculationState, every_ms: number, now_ms: number): boolean {
  if (cohort.version !== cohort.calculated_version) return true
  const age_ms = now_ms - (cohort.last_calculation?.getTime() ?? 0)
  return age_ms < 0 || age_ms >= every_ms
}

/** The reason for callers; details of bugs stay in the log. */
function reasonIn(error: unknown): string {
  if (error instanceof FlagFailure) return `The conditions cannot be evaluated: ${error.code}.`
  return error instanceof Refusal ? error.detail : 'Something went wrong on our side.'
}

function subjectOf(
  person: ListedPerson,
  isInCohort: (cohort_id: number) => boolean,
  now: Date,
): FlagPerson {
  return {
    distinct_id: '',
    device_id: null,
    person_properties: person.properties,
    group_properties: {},
    groups: {},
    overrides: new Map(),
    isInCohort,
    now: now.getTime(),
  }
}
