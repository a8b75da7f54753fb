/** Surveys that come back begin their next turn by themselves: what they ask and whom follows the calendar. */
import { and, eq, isNotNull, isNull } from 'drizzle-orm'
import { getOrganizationOwner } from '../projects/organization.ts'
import { findProject } from '../projects/project.ts'
import type { ControlDB } from '../storage/control.ts'
import type { FlagDefinitions } from './definitions.ts'
import { turnAt, updateSurvey } from './survey.ts'
import { surveys } from './tables.ts'

export type SurveyTurnNeeds = {
  readonly control: ControlDB
  readonly flags: Pick<FlagDefinitions, 'expectChange' | 'flagsOf'>
  readonly log: { readonly error: (fields: object, message: string) => void }
  readonly now: () => Date
}

const LOOKED_EVERY_MS = 60_000

/** Looks after surveys from `start` to `close`. */
export class SurveyTurns {
  readonly #needs: SurveyTurnNeeds
  #timer: Timer | null = null

  constructor(needs: SurveyTurnNeeds) {
    this.#needs = needs
  }

  /** Looks now, for turns that began while nothing ran, and from then on. */
  start(): void {
    this.#timer = setInterval(() => this.look(), LOOKED_EVERY_MS)
    this.#timer.unref()
    this.look()
  }

  /** Brings every survey into the turn that it is in by now. */
  look(): void {
    try {
      const now = this.#needs.now()
      for (const survey of this.#listRunning()) {
        if (turnAt(survey, now) !== survey.current_iteration) this.#begin(survey, now)
      }
    } catch (err) {
      this.#needs.log.error({ err }, 'surveys cannot be looked after')
    }
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  #listRunning(): readonly (typeof surveys.$inferSelect)[] {
    const is_running = and(
      eq(surveys.archived, false),
      isNull(surveys.end_date),
      isNotNull(surveys.current_iteration),
    )
    return this.#needs.control.select().from(surveys).where(is_running).all()
  }

  /** In the name of whoever made the survey, as if they had saved it today. */
  #begin(survey: typeof surveys.$inferSelect, now: Date): void {
    const { control, flags } = this.#needs
    const project = findProject(control, survey.project_id)
    if (project === null) return
    const editor = {
      control,
      project,
      user_id: survey.created_by ?? getOrganizationOwner(control, project.organization_id),
      definitions: flags.flagsOf(project.id).definitions,
      expectChange: () => flags.expectChange(),
    }
    updateSurvey(editor, survey, {}, now)
  }
}
