/** Removes objects that were deleted long ago, a slice at a time, and trims the activity log. */
import {
  ActivityTrimmer,
  listDueCohorts,
  removalSteps,
  removeCohort,
  type TidySettings,
} from '../projects/tidying.ts'
import { Slices } from '../threads/slices.ts'
import { emptyCohort, type MemberContext } from './cohorts/cohort-members.ts'
import { PeriodicTask } from './shared/periodic-task.ts'

type TidyingContext = MemberContext & {
  readonly settings: TidySettings
  readonly log: { readonly error: (fields: object, message: string) => void }
  readonly now: () => Date
}

/** The log grows with every edit, by 32 KiB at most. */
const ROUND_MS = 60_000

/** Looks for removable objects from `start` to `close`. */
export class Tidying extends PeriodicTask {
  readonly #context: TidyingContext
  readonly #trimmer: ActivityTrimmer

  constructor(context: TidyingContext) {
    const { log } = context
    const failure = 'what was deleted long ago cannot be removed'
    super({ every_ms: ROUND_MS, failure, log }, () => this.#tidy())
    this.#context = context
    this.#trimmer = new ActivityTrimmer(context.control, context.settings)
  }

  async #tidy(): Promise<void> {
    const { control, settings, now } = this.#context
    for (const cohort of listDueCohorts(control, settings, now())) {
      if (!this.is_open) return
      await emptyCohort(this.#context, cohort)
      removeCohort(control, cohort.id)
    }
    const slices = new Slices()
    const steps = [...removalSteps(control, settings, now()), ...this.#trimmer.steps(now())]
    for (const step of steps) {
      while (this.is_open && step()) await slices.end()
      if (slices.isOver()) await slices.end()
      if (!this.is_open) return
    }
  }
}
