/** Opens the room: compiled definitions of control.db, persons of events.db, and the background tasks. */
import type { TidySettings } from '../projects/tidying.ts'
import { ControlChanges } from '../storage/control/control-changes.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { PersonReader } from '../storage/persons/person-reader.ts'
import { actionMatcher } from './action-matches.ts'
import { type CalculatorContext, CohortCalculator } from './cohorts/cohort-calculator.ts'
import { FlagDefinitions } from './flags/flag-definitions.ts'
import { FlagSchedule } from './flags/flag-schedule.ts'
import { SurveyLifecycle } from './surveys/survey-lifecycle.ts'
import { Tidying } from './tidying.ts'

export type Targeting = {
  readonly flags: FlagDefinitions
  readonly persons: PersonReader
  readonly control_changes: ControlChanges
  readonly cohorts: CohortCalculator
  readonly tidying: Tidying
  /** Finds the events that are an action. */
  readonly matchAction: ReturnType<typeof actionMatcher>
  /** Starts the background tasks: cohorts, surveys, scheduled changes, removal of deleted objects. */
  start(): void
  close(): Promise<void>
}

type TargetingContext = Pick<CalculatorContext, 'queryEvents' | 'log' | 'now' | 'rows'> & {
  /** The connection that this process writes through. */
  readonly control: ControlDB
  /** Retention of deleted objects and logs. */
  readonly tidy: TidySettings
}

/** Opens the room. Both databases must exist with all of their tables. */
export function openTargeting(data_dir: string, context: TargetingContext): Targeting {
  const watch = new ControlChanges(data_dir)
  const persons = new PersonReader(data_dir)
  const flags = new FlagDefinitions({ control: context.control, watch, persons })
  const cohorts = new CohortCalculator({ ...context, flags, persons })
  const surveys = new SurveyLifecycle({ ...context, flags })
  const schedule = new FlagSchedule({ ...context, flags })
  const tidying = new Tidying({ ...context, settings: context.tidy, persons })
  return {
    flags,
    persons,
    control_changes: watch,
    cohorts,
    tidying,
    matchAction: actionMatcher(context.control, context.queryEvents),
    start() {
      cohorts.start()
      surveys.start()
      schedule.start()
      tidying.start()
    },
    async close() {
      await tidying.close()
      await schedule.close()
      await surveys.close()
      await cohorts.close()
      persons.close()
      watch.close()
    },
  }
}
