/** Surveys: their questions, and the flags that choose their audience. */

import { and, count, desc, eq, isNotNull, isNull, ne, type SQL } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { asText } from '../../flags/operators/value.ts'
import { isObject } from '../../json.ts'
import { bytesOfRow } from '../../projects/quota.ts'
import { projects } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { DAY_MS } from '../../time.ts'
import { createFlag, type Flag, getFlag, removeFlag, updateFlag } from '../flags/flag.ts'
import { variantsOf } from '../flags/flag-status.ts'
import { recordEdit, recordRemoval, type TargetingEditor } from '../shared/editor.ts'
import { uniqueKey } from '../shared/unique-key.ts'
import { surveys } from '../tables.ts'
import { requireOneOrder } from './survey-questions.ts'

export type Survey = typeof surveys.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type SurveyChanges = Partial<
  Pick<
    Survey,
    | 'appearance'
    | 'archived'
    | 'conditions'
    | 'description'
    | 'enable_iframe_embedding'
    | 'enable_partial_responses'
    | 'end_date'
    | 'form_content'
    | 'iteration_count'
    | 'iteration_frequency_days'
    | 'linked_flag_id'
    | 'name'
    | 'questions'
    | 'response_sampling_daily_limits'
    | 'response_sampling_interval'
    | 'response_sampling_interval_type'
    | 'response_sampling_limit'
    | 'response_sampling_start_date'
    | 'responses_limit'
    | 'schedule'
    | 'start_date'
    | 'targeting_flag_id'
    | 'translations'
    | 'type'
  >
> & {
  /** Conditions of the survey's own targeting flag. */
  readonly targeting_flag_filters?: unknown
  readonly remove_targeting_flag?: boolean
}

/** Creates a survey, with a flag that excludes persons who answered or dismissed it. */
export function createSurvey(
  editor: TargetingEditor,
  input: SurveyChanges & { readonly name: string; readonly type: string },
  now: Date,
): Survey {
  const { control, project, user_id } = editor
  requireFreeName(control, project.id, input.name, null)
  requireOneOrder(input.questions, input.appearance)
  requireLinkedVariant(editor, input.conditions, input.linked_flag_id ?? null)
  const id = Bun.randomUUIDv7()
  return control.transaction(() => {
    const { targeting_flag_filters: _filters, remove_targeting_flag: _remove, ...members } = input
    const draft = {
      ...members,
      id,
      project_id: project.id,
      created_by: user_id,
      created_at: now,
      updated_at: now,
    }
    const bare = control.insert(surveys).values(draft).returning().get()
    const survey = syncFlags(editor, withIterations(bare, now), input, now)
    recordEdit(control, editor, editOf(null, survey), now)
    followSurveys(editor)
    return survey
  })
}

/** Changes a survey and its flags. */
export function updateSurvey(
  editor: TargetingEditor,
  before: Survey,
  changes: SurveyChanges,
  now: Date,
): Survey {
  const { control, project } = editor
  if (changes.name !== undefined) requireFreeName(control, project.id, changes.name, before.id)
  const { questions = before.questions, appearance = before.appearance } = changes
  if (changes.questions !== undefined || changes.appearance !== undefined) {
    requireOneOrder(questions, appearance)
  }
  const { linked_flag_id = before.linked_flag_id } = changes
  requireLinkedVariant(editor, changes.conditions, linked_flag_id)
  return control.transaction(() => {
    const { targeting_flag_filters: _filters, remove_targeting_flag: _remove, ...members } = changes
    const changed = { ...before, ...members, updated_at: now }
    const survey = syncFlags(editor, withIterations(changed, now), changes, now)
    recordEdit(control, editor, editOf(before, survey), now)
    followSurveys(editor)
    return survey
  })
}

/** Deletes a survey and its own flags. */
export function removeSurvey(editor: TargetingEditor, survey: Survey, now: Date): void {
  const { control } = editor
  control.transaction(() => {
    control.delete(surveys).where(eq(surveys.id, survey.id)).run()
    for (const flag_id of [survey.targeting_flag_id, survey.internal_targeting_flag_id]) {
      removeOwnFlag(editor, flag_id, now)
    }
    recordRemoval(control, editor, { scope: 'Survey', item_id: survey.id, name: survey.name }, now)
    followSurveys(editor)
  })
}

/** Returns the project's survey with this id. Refuses when there is none. */
export function getSurvey(db: ControlDB, project_id: number, id: string): Survey {
  const survey = findSurvey(db, project_id, id)
  if (survey === undefined) throw new Refusal('not_found', 'Not found.')
  return survey
}

/** Returns the project's survey with this id, undefined if there is none. */
export function findSurvey(db: ControlDB, project_id: number, id: string): Survey | undefined {
  const its = and(eq(surveys.project_id, project_id), eq(surveys.id, id))
  return db.select().from(surveys).where(its).get()
}

/** The members by which lists of surveys are filtered. */
type SurveyHead = Pick<Survey, 'archived' | 'description' | 'id' | 'name' | 'type'>

/** A project's surveys without their long members, newest first. */
export function listSurveyHeads(db: ControlDB, project_id: number): readonly SurveyHead[] {
  const { id, name, description, type, archived, created_at } = surveys
  return db
    .select({ id, name, description, type, archived })
    .from(surveys)
    .where(eq(surveys.project_id, project_id))
    .orderBy(desc(created_at), desc(id))
    .all()
}

/** Lists a project's running surveys, newest first: as many as fit into `count_max` and `bytes_max`. */
export function listRunningSurveys(
  db: ControlDB,
  project_id: number,
  { count_max, bytes_max }: { readonly count_max: number; readonly bytes_max: number },
): { readonly running: readonly Survey[]; readonly are_all: boolean } {
  const newest_first = [desc(surveys.created_at), desc(surveys.id)] as const
  const sizes = db
    .select({ bytes: bytesOfRow(surveys) })
    .from(surveys)
    .where(runsIn(project_id))
    .orderBy(...newest_first)
    .limit(count_max + 1)
    .all()
  let rest = bytes_max
  const fitting = sizes.slice(0, count_max).filter(({ bytes }) => {
    rest -= bytes
    return rest >= 0
  })
  const running = db
    .select()
    .from(surveys)
    .where(runsIn(project_id))
    .orderBy(...newest_first)
    .limit(fitting.length)
    .all()
  return { running, are_all: fitting.length === sizes.length }
}

function runsIn(project_id: number): SQL | undefined {
  return and(
    eq(surveys.project_id, project_id),
    eq(surveys.archived, false),
    isNotNull(surveys.start_date),
    isNull(surveys.end_date),
  )
}

/** Returns the present iteration of a recurring survey, counted from 1; null for others. */
export function iterationAt(survey: Survey, now: Date): number | null {
  const starts = startsOf(survey)
  return starts && Math.max(1, starts.filter((start) => start <= now).length)
}

/** A recurring survey has a start date per iteration; the present iteration is the latest that has begun. */
function withIterations(survey: Survey, now: Date): Survey {
  const starts = startsOf(survey)
  const iteration = iterationAt(survey, now)
  return {
    ...survey,
    iteration_start_dates: starts && starts.map((start) => start.toISOString()),
    current_iteration: iteration,
    current_iteration_start_date: (iteration === null ? null : starts?.[iteration - 1]) ?? null,
  }
}

function startsOf(survey: Survey): readonly Date[] | null {
  const { iteration_count, iteration_frequency_days, start_date } = survey
  if (!iteration_count || !iteration_frequency_days || start_date === null) return null
  return Array.from(
    { length: iteration_count },
    (_, index) => new Date(start_date.getTime() + index * iteration_frequency_days * DAY_MS),
  )
}

/** Updates the survey's own flags and stores it. */
function syncFlags(
  editor: TargetingEditor,
  survey: Survey,
  changes: SurveyChanges,
  now: Date,
): Survey {
  const targeting_flag_id = syncTargetingFlag(editor, survey, changes, now)
  const internal_targeting_flag_id = syncInternalFlag(editor, survey, now)
  return editor.control
    .update(surveys)
    .set({ ...survey, targeting_flag_id, internal_targeting_flag_id })
    .where(eq(surveys.id, survey.id))
    .returning()
    .get()
}

function syncTargetingFlag(
  editor: TargetingEditor,
  survey: Survey,
  changes: SurveyChanges,
  now: Date,
): number | null {
  const { control, project } = editor
  const { targeting_flag_id } = survey
  const filters = changes.targeting_flag_filters ?? undefined
  if (changes.remove_targeting_flag === true) {
    // The survey lets go of it first.
    const its = eq(surveys.id, survey.id)
    control.update(surveys).set({ targeting_flag_id: null }).where(its).run()
    removeOwnFlag(editor, targeting_flag_id, now)
    return null
  }
  const active = isRunning(survey)
  if (targeting_flag_id !== null) {
    const flag = getFlag(control, project.id, targeting_flag_id)
    const switched = isOwn(flag) && flag.active !== active ? { active } : {}
    const targeted = filters === undefined ? {} : { filters }
    const flag_changes = { ...switched, ...targeted }
    if (Object.keys(flag_changes).length > 0) updateFlag(editor, flag, flag_changes, now)
    return targeting_flag_id
  }
  if (filters === undefined) return null
  const flag = {
    key: uniqueKey(editor, `survey-targeting-${survey.name}-custom`, 'survey-targeting'),
    name: `Targeting flag for survey ${survey.name}`,
    filters,
    active,
    creation_context: 'surveys',
  }
  return createFlag(editor, flag, now).id
}

/** Deletes a flag, unless it was created independently of the survey. */
function removeOwnFlag(editor: TargetingEditor, flag_id: number | null, now: Date): void {
  if (flag_id === null) return
  const flag = getFlag(editor.control, editor.project.id, flag_id)
  if (isOwn(flag)) removeFlag(editor, flag, now)
}

const isOwn = ({ creation_context }: Flag): boolean => creation_context === 'surveys'

/** Sets `surveys_opt_in`, by which SDKs load surveys: on with the project's first running survey, off after the last. */
function followSurveys({ control, project }: TargetingEditor): void {
  const is_shown = and(runsIn(project.id), ne(surveys.type, 'api'))
  const running = control.select({ running: count() }).from(surveys).where(is_shown).get()?.running
  const its = eq(projects.id, project.id)
  const before = control.select({ on: projects.surveys_opt_in }).from(projects).where(its).get()
  const is_on = (running ?? 0) > 0
  if ((before?.on ?? false) === is_on) return
  control.update(projects).set({ surveys_opt_in: is_on }).where(its).run()
}

/** Updates the survey's internal flag. */
function syncInternalFlag(editor: TargetingEditor, survey: Survey, now: Date): number {
  const filters = internalFilters(survey)
  const active = isRunning(survey)
  const { control, project } = editor
  if (survey.internal_targeting_flag_id !== null) {
    const flag = getFlag(control, project.id, survey.internal_targeting_flag_id)
    const is_same = Bun.deepEquals(flag.filters, filters) && flag.active === active
    return is_same ? flag.id : updateFlag(editor, flag, { filters, active }, now).id
  }
  const flag = {
    key: uniqueKey(editor, `survey-targeting-${survey.name}`, 'survey-targeting'),
    name: `Targeting flag for survey ${survey.name}`,
    filters,
    active,
    creation_context: 'surveys',
  }
  return createFlag(editor, flag, now).id
}

/**
 * Excludes persons who answered or dismissed the survey, until the next iteration, and those who saw any survey within
 * its `seenSurveyWaitPeriodInDays`: clients know about their own device only, if they heed it at all.
 */
function internalFilters({ id, current_iteration, conditions }: Survey): object {
  const suffix = current_iteration === null ? '' : `/${current_iteration}`
  const unanswered = ['dismissed', 'responded'].map((what) =>
    isNotSet(`$survey_${what}/${id}${suffix}`),
  )
  const days = isObject(conditions) ? Number(conditions['seenSurveyWaitPeriodInDays']) : 0
  const value = `${Math.min(days, WAIT_DAYS_MAX)}d`
  const seen_long_ago = { ...isNotSet(LAST_SEEN), operator: 'is_date_before', value }
  const waits =
    Number.isSafeInteger(days) && days > 0 ? [[isNotSet(LAST_SEEN)], [seen_long_ago]] : [[]]
  return {
    groups: waits.map((wait) => ({
      variant: '',
      rollout_percentage: 100,
      properties: [...unanswered, ...wait],
    })),
  }
}

/** The person property of the last survey that was shown, which ingestion sets. */
const LAST_SEEN = '$survey_last_seen_date'
/** The largest age that a filter of dates takes: 27 years. */
const WAIT_DAYS_MAX = 9999

const isNotSet = (key: string) => ({
  key,
  type: 'person',
  operator: 'is_not_set',
  value: 'is_not_set',
})

function isRunning({ start_date, end_date, archived }: Survey): boolean {
  return start_date !== null && end_date === null && !archived
}

/** Refuses a variant that the linked flag lacks: no person would be asked. */
function requireLinkedVariant(
  { control, project }: TargetingEditor,
  conditions: unknown,
  flag_id: number | null,
): void {
  const variant = isObject(conditions) ? (conditions['linkedFlagVariant'] ?? '') : ''
  if (variant === '') return
  if (flag_id === null) {
    const detail = 'linkedFlagVariant can only be used when a linked_flag_id is specified'
    throw new Refusal('invalid_input', detail, { attr: 'conditions' })
  }
  if (variant === 'any') return
  const keys = variantsOf(getFlag(control, project.id, flag_id).filters).map(({ key }) => key)
  if (keys.includes(variant)) return
  const detail =
    keys.length === 0
      ? `Feature flag variant '${asText(variant)}' specified but the linked feature flag has no variants`
      : `Feature flag variant '${asText(variant)}' does not exist. Available variants: ${keys.join(', ')}`
  throw new Refusal('invalid_input', detail, { attr: 'conditions' })
}

function requireFreeName(
  db: ControlDB,
  project_id: number,
  name: string,
  own_id: string | null,
): void {
  const its = and(eq(surveys.project_id, project_id), eq(surveys.name, name))
  const holder = db.select().from(surveys).where(its).get()
  if (holder === undefined || holder.id === own_id) return
  throw new Refusal('unique', 'There is already a survey with this name.', { attr: 'name' })
}

function editOf(before: Survey | null, after: Survey) {
  return { scope: 'Survey', item_id: after.id, name: after.name, before, after } as const
}
