/**
 * Background lifecycle of surveys: starts the next iteration of recurring ones, ends those with enough
 * responses.
 */
import { and, eq, isNotNull, isNull, or } from 'drizzle-orm'
import { findProject } from '../../projects/settings/project.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import type { QueryEvents } from '../cohorts/behavioral-cohort.ts'
import type { FlagDefinitions } from '../flags/flag-definitions.ts'
import { editorFor } from '../shared/editor.ts'
import { PeriodicTask } from '../shared/periodic-task.ts'
import { surveys } from '../tables.ts'
import { findSurvey, iterationAt, type Survey, type SurveyChanges, updateSurvey } from './survey.ts'

type SurveyLifecycleContext = {
  readonly control: ControlDB
  readonly flags: Pick<FlagDefinitions, 'expectChange' | 'readyFlagsOf'>
  readonly log: { readonly error: (fields: object, message: string) => void }
  readonly now: () => Date
  /** Queries over events: counts a survey's responses. */
  readonly queryEvents: QueryEvents
}

const ROUND_MS = 60_000

const COUNT_RESPONSES = `
select count()
from events
where event = 'survey sent' and properties.$survey_id = {survey} and timestamp >= toDateTime({from})`

/** Checks surveys from `start` to `close`; first for iterations that began while the server was down. */
export class SurveyLifecycle extends PeriodicTask {
  readonly #context: SurveyLifecycleContext

  constructor(context: SurveyLifecycleContext) {
    const { log } = context
    super({ every_ms: ROUND_MS, failure: 'surveys cannot be checked', log }, () => this.#checkAll())
    this.#context = context
  }

  /** Brings every survey to its state at this time. */
  async #checkAll(): Promise<void> {
    for (const { id, project_id } of this.#listRunning()) {
      if (!this.is_open) return
      const survey = findSurvey(this.#context.control, project_id, id)
      if (survey !== undefined) await this.#tryOne(survey)
      await Bun.sleep(0)
    }
  }

  async #tryOne(survey: Survey): Promise<void> {
    try {
      await this.#checkOne(survey)
    } catch (err) {
      this.#context.log.error({ err, survey_id: survey.id }, 'a survey cannot be checked')
    }
  }

  async #checkOne(survey: Survey): Promise<void> {
    const now = this.#context.now()
    const { id, project_id, start_date, responses_limit } = survey
    if (iterationAt(survey, now) !== survey.current_iteration) {
      await this.#change(survey, now, () => ({}))
    }
    if (responses_limit === null || responses_limit <= 0 || start_date === null) return
    const values = { survey: id, from: start_date.toISOString() }
    const [row] = await this.#context.queryEvents(project_id, COUNT_RESPONSES, values)
    if (Number(row?.[0] ?? 0) < responses_limit) return
    // With another limit or start it is counted again, in the next round.
    const isCounted = (present: Survey): boolean =>
      present.responses_limit === responses_limit &&
      present.start_date?.getTime() === start_date.getTime()
    await this.#change(survey, now, (present) => (isCounted(present) ? { end_date: now } : null))
  }

  /** The running surveys by their ids; all of them may be megabytes. */
  #listRunning(): readonly Pick<Survey, 'id' | 'project_id'>[] {
    const is_running = and(
      eq(surveys.archived, false),
      isNotNull(surveys.start_date),
      isNull(surveys.end_date),
      or(isNotNull(surveys.current_iteration), isNotNull(surveys.responses_limit)),
    )
    const { id, project_id } = surveys
    return this.#context.control.select({ id, project_id }).from(surveys).where(is_running).all()
  }

  /** Changes a survey on behalf of its author, if it still runs; `changesOf` gets it as it is then, null leaves it. */
  async #change(
    { id, project_id, created_by }: Survey,
    now: Date,
    changesOf: (present: Survey) => SurveyChanges | null,
  ): Promise<void> {
    const { control } = this.#context
    const project = findProject(control, project_id)
    if (project === null) return
    const editor = await editorFor(this.#context, project, created_by)
    // Others may have changed it while queries ran and definitions were read.
    const present = findSurvey(control, project_id, id)
    if (present?.end_date !== null) return
    const changes = changesOf(present)
    if (changes !== null) updateSurvey(editor, present, changes, now)
  }
}
