/** Opens what this room reads: compiled definitions of control.db, people of events.db; and what it works out itself. */
import type { TidySettings } from '../projects/tidying.ts'
import type { ControlDB } from '../storage/control.ts'
import { ControlWatch } from '../storage/control-watch.ts'
import { PeopleReader } from '../storage/people-reader.ts'
import { type CalculatorNeeds, CohortCalculator } from './cohort-calculator.ts'
import { FlagDefinitions } from './definitions.ts'
import { FlagSchedule } from './flag-schedule.ts'
import { SurveyTurns } from './survey-turns.ts'
import { Tidying } from './tidying.ts'

export type Targeting = {
  readonly flags: FlagDefinitions
  readonly people: PeopleReader
  readonly cohorts: CohortCalculator
  readonly tidying: Tidying
  /** Begins to look after cohorts, surveys, planned changes of flags, and what may be removed. */
  start(): void
  close(): Promise<void>
}

export type TargetingNeeds = Pick<CalculatorNeeds, 'ask' | 'log' | 'now' | 'rows'> & {
  /** The connection that this process writes through. */
  readonly control: ControlDB
  /** How long what is past stays. */
  readonly tidy: TidySettings
}

/** Both databases must exist with all of their tables. */
export function openTargeting(data_dir: string, needs: TargetingNeeds): Targeting {
  const watch = new ControlWatch(data_dir)
  const people = new PeopleReader(data_dir)
  const flags = new FlagDefinitions({ control: needs.control, watch, people })
  const cohorts = new CohortCalculator({ ...needs, flags, people })
  const surveys = new SurveyTurns({ ...needs, flags })
  const schedule = new FlagSchedule({ ...needs, flags })
  const tidying = new Tidying({ ...needs, settings: needs.tidy, people })
  return {
    flags,
    people,
    cohorts,
    tidying,
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
      people.close()
      watch.close()
    },
  }
}
