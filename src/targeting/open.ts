/** Opens what this room reads: compiled definitions of control.db, people of events.db; and what it works out itself. */
import type { ControlDB } from '../storage/control.ts'
import { ControlWatch } from '../storage/control-watch.ts'
import { PeopleReader } from '../storage/people-reader.ts'
import { type CalculatorNeeds, CohortCalculator } from './cohort-calculator.ts'
import { FlagDefinitions } from './definitions.ts'
import { FlagSchedule } from './flag-schedule.ts'
import { SurveyTurns } from './survey-turns.ts'

export type Targeting = {
  readonly flags: FlagDefinitions
  readonly people: PeopleReader
  readonly cohorts: CohortCalculator
  /** Begins to look after cohorts, surveys and planned changes of flags. */
  start(): void
  close(): Promise<void>
}

export type TargetingNeeds = Pick<CalculatorNeeds, 'ask' | 'log' | 'now' | 'rows'> & {
  /** The connection that this process writes through. */
  readonly control: ControlDB
}

/** Both databases must exist with all of their tables. */
export function openTargeting(data_dir: string, needs: TargetingNeeds): Targeting {
  const watch = new ControlWatch(data_dir)
  const people = new PeopleReader(data_dir)
  const flags = new FlagDefinitions({ control: needs.control, watch, people })
  const cohorts = new CohortCalculator({ ...needs, flags, people })
  const surveys = new SurveyTurns({ ...needs, flags })
  const schedule = new FlagSchedule({ ...needs, flags })
  return {
    flags,
    people,
    cohorts,
    start() {
      cohorts.start()
      surveys.start()
      schedule.start()
    },
    async close() {
      await schedule.close()
      await surveys.close()
      await cohorts.close()
      people.close()
      watch.close()
    },
  }
}
