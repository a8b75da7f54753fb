/** The editable form of a survey: stored members as they are, of which the page changes those that it knows. */
import type { ShownSurvey } from '../../api/types/shown-survey.ts'
import { isEqual } from '../../parts/is-equal.ts'

/** An object of the API whose members may have any shape. */
export type SurveyMembers = Readonly<Record<string, unknown>>

export type DraftedSurvey = {
  readonly name: string
  readonly description: string
  readonly type: string
  /** In order; other members of a question than those of its editor stay. */
  readonly questions: readonly SurveyMembers[]
  readonly conditions: SurveyMembers
  readonly appearance: SurveyMembers
  readonly linked_flag_id: number | null
  /** The filters of the survey's own targeting flag; null for everyone. */
  readonly targeting: SurveyMembers | null
  readonly schedule: string | null
  readonly responses_limit: number | null
  readonly iteration_count: number | null
  readonly iteration_frequency_days: number | null
  /** Members of the survey that a copy was made of, which the page does not edit. */
  readonly others: SurveyMembers
}

/** The draft of a stored survey. */
export function draftOf(survey: ShownSurvey): DraftedSurvey {
  return {
    name: survey.name,
    description: survey.description,
    type: survey.type,
    questions: listOf(survey.questions).map(membersOf),
    conditions: membersOf(survey.conditions),
    appearance: membersOf(survey.appearance),
    linked_flag_id: survey.linked_flag_id,
    targeting: survey.targeting_flag?.filters ?? null,
    schedule: survey.schedule,
    responses_limit: survey.responses_limit,
    iteration_count: survey.iteration_count,
    iteration_frequency_days: survey.iteration_frequency_days,
    others: {},
  }
}

/** A draft as an address has it; null for anything else. */
export function readDraft(value: unknown): DraftedSurvey | null {
  const draft = membersOf(value)
  const { name, type, questions, targeting } = draft
  if (typeof name !== 'string' || !Array.isArray(questions)) return null
  return {
    name,
    description: textOf(draft['description']),
    type: textOf(type) || 'popover',
    questions: questions.map(membersOf),
    conditions: membersOf(draft['conditions']),
    appearance: membersOf(draft['appearance']),
    linked_flag_id: numberOrNull(draft['linked_flag_id']),
    targeting: isMembers(targeting) ? targeting : null,
    schedule: textOf(draft['schedule']) || null,
    responses_limit: numberOrNull(draft['responses_limit']),
    iteration_count: numberOrNull(draft['iteration_count']),
    iteration_frequency_days: numberOrNull(draft['iteration_frequency_days']),
    others: membersOf(draft['others']),
  }
}

/** The body that stores a draft: only what differs from the stored survey, so that what the page cannot show stays. */
export function bodyOf(draft: DraftedSurvey, stored: DraftedSurvey | null): object {
  const { targeting, others, ...members } = draft
  const changed = Object.entries(members).filter(
    ([name, value]) => stored === null || !isEqual(value, Object(stored)[name]),
  )
  const target = targetingBody(targeting, stored?.targeting ?? null)
  return { ...others, ...Object.fromEntries(changed), ...target }
}

function targetingBody(after: SurveyMembers | null, before: SurveyMembers | null): object {
  if (isEqual(after, before)) return {}
  return after === null ? { remove_targeting_flag: true } : { targeting_flag_filters: after }
}

/** A new survey like a stored one, with new ids for its questions, by which answers are stored. */
export function copyOf(draft: DraftedSurvey, survey: ShownSurvey): DraftedSurvey {
  const { translations, form_content, enable_partial_responses, enable_iframe_embedding } = survey
  return {
    ...draft,
    name: `${draft.name} (copy)`,
    questions: draft.questions.map(({ id: _own, ...question }) => question),
    others: { translations, form_content, enable_partial_responses, enable_iframe_embedding },
  }
}

/** The members with one changed; an empty value removes it. */
export function withMember(members: SurveyMembers, name: string, value: unknown): SurveyMembers {
  const { [name]: _before, ...others } = members
  return value === null || value === '' ? others : { ...others, [name]: value }
}

/** The questions without one; branches that led to it go on to the next question. */
export const removeQuestion = (
  questions: readonly SurveyMembers[],
  at: number,
): readonly SurveyMembers[] =>
  reorder(
    questions,
    questions.map((_, index) => index).filter((index) => index !== at),
  )

/** The questions with one moved to another place; branches still lead to the same questions. */
export function moveQuestion(
  questions: readonly SurveyMembers[],
  from: number,
  to: number,
): readonly SurveyMembers[] {
  const order = questions.map((_, index) => index).filter((index) => index !== from)
  return reorder(questions, order.toSpliced(to, 0, from))
}

/** The questions in another order, given by their present indexes, by which branches name them. */
function reorder(
  questions: readonly SurveyMembers[],
  order: readonly number[],
): readonly SurveyMembers[] {
  const placeOf = (index: unknown): number | null => {
    const place = typeof index === 'number' ? order.indexOf(index) : -1
    return place === -1 ? null : place
  }
  return order.map((index) => {
    const question = questions[index] ?? {}
    const { branching } = question
    return isMembers(branching) ? { ...question, branching: follow(branching, placeOf) } : question
  })
}

function follow(
  branching: SurveyMembers,
  placeOf: (index: unknown) => number | null,
): SurveyMembers {
  const { type, index, responseValues } = branching
  if (type === 'specific_question') {
    const place = placeOf(index)
    return place === null ? { type: 'next_question' } : { ...branching, index: place }
  }
  if (type !== 'response_based' || !isMembers(responseValues)) return branching
  const values = Object.entries(responseValues).map(([answer, target]) => [
    answer,
    typeof target === 'number' ? (placeOf(target) ?? 'next_question') : target,
  ])
  return { ...branching, responseValues: Object.fromEntries(values) as SurveyMembers }
}

/** The question without one of its choices; branches by the others still lead to the same questions. */
export const removeChoice = (question: SurveyMembers, at: number): SurveyMembers =>
  reorderChoices(
    question,
    listOf(question['choices']).flatMap((_, index) => (index === at ? [] : [index])),
  )

/** The question with an empty choice at the end; an open choice stays the last one. */
export function addChoice(question: SurveyMembers): SurveyMembers {
  const { length } = listOf(question['choices'])
  const order = Array.from({ length }, (_, index) => index)
  const has_open = question['hasOpenChoice'] === true && length > 0
  return reorderChoices(question, order.toSpliced(has_open ? -1 : length, 0, length))
}

/** The choices in another order, given by their present indexes, by which branches name them; an index beyond them is a new one. */
function reorderChoices(question: SurveyMembers, order: readonly number[]): SurveyMembers {
  const before = listOf(question['choices'])
  const choices = order.map((index) => textOf(before[index]))
  const { branching } = question
  const { type, responseValues } = membersOf(branching)
  if (type !== 'response_based' || !isMembers(responseValues)) return { ...question, choices }
  const values = Object.entries(responseValues).flatMap(([answer, target]) => {
    if (!/^\d+$/.test(answer)) return [[answer, target] as const]
    const place = order.indexOf(Number(answer))
    return place === -1 ? [] : [[String(place), target] as const]
  })
  const branches = { ...membersOf(branching), responseValues: Object.fromEntries(values) }
  return { ...question, choices, branching: branches }
}

/** Draft, running, ended or archived. */
export type SurveyState = 'archived' | 'draft' | 'ended' | 'running'

/** The state that the dates of a survey say. */
export function stateOf({
  archived,
  start_date,
  end_date,
}: Pick<ShownSurvey, 'archived' | 'end_date' | 'start_date'>): SurveyState {
  if (archived) return 'archived'
  if (start_date === null) return 'draft'
  return end_date === null ? 'running' : 'ended'
}

export const isMembers = (value: unknown): value is SurveyMembers =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const membersOf = (value: unknown): SurveyMembers => (isMembers(value) ? value : {})

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The text; '' for any other value. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A number or a text as text; '' for any other value. */
export const shownText = (value: unknown): string =>
  typeof value === 'number' ? String(value) : textOf(value)

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null)
