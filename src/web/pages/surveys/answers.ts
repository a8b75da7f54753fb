/** The answers to one question: the query that counts them, its rows in order, and the scores of ratings. */
import { listOf, type SurveyMembers, textOf } from './survey-draft.ts'

/** The most different answers that are listed. */
export const ANSWERS_MAX = 100

type AnswersInput = {
  readonly survey_id: string
  readonly question: SurveyMembers
  /** From 0: older SDKs name answers by it. */
  readonly at: number
  /** The uuids of archived responses. */
  readonly archived: readonly string[]
}

/** The query that counts the responses by answer, the most frequent first, and those to all answers, listed or not. */
export function answersQuery(input: AnswersInput): {
  readonly kind: 'HogQLQuery'
  readonly query: string
} {
  const { question } = input
  // A choice may be there twice, and its response counts once.
  const answer = isMultiple(question)
    ? `arrayJoin(arrayDistinct(${answerOf(input, true)}))`
    : answerOf(input)
  const query = `select ${answer} as answer, count() as responses, sum(count()) over () as all_responses
from events
where ${responsesOf(input)}
group by answer
having notEmpty(ifNull(answer, ''))
order by responses desc, answer
limit ${ANSWERS_MAX}`
  return { kind: 'HogQLQuery', query }
}

/** The query for the persons who gave an answer. */
export function personsQuery(
  input: AnswersInput,
  answer: string,
): { readonly kind: 'HogQLQuery'; readonly query: string } {
  const has = isMultiple(input.question)
    ? `has(${answerOf(input, true)}, ${quote(JSON.stringify(answer))})`
    : `${answerOf(input)} = ${quote(answer)}`
  return {
    kind: 'HogQLQuery',
    query: `select distinct person_id from events where ${responsesOf(input)} and ${has}`,
  }
}

function answerOf({ question, at }: AnswersInput, is_list = false): string {
  const id = textOf(question['id'])
  const args = [String(at), ...(id === '' && !is_list ? [] : [id === '' ? 'null' : quote(id)])]
  return `getSurveyResponse(${[...args, ...(is_list ? ['true'] : [])].join(', ')})`
}

function responsesOf({ survey_id, archived }: AnswersInput): string {
  const id = quote(survey_id)
  const kept =
    archived.length === 0 ? '' : ` and toString(uuid) not in [${archived.map(quote).join(', ')}]`
  return `event = 'survey sent' and properties.$survey_id = ${id} and uniqueSurveySubmissionsFilter(${id})${kept}`
}

/** A text of HogQL. */
const quote = (text: string): string =>
  `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`

const isMultiple = ({ type }: SurveyMembers): boolean => type === 'multiple_choice'

export type AnswerCount = { readonly answer: string; readonly count: number }

/** The rows of the query in the order of the question: a scale from its lower end and then answers beyond it, choices by frequency; also those without an answer. */
export function readAnswers(
  question: SurveyMembers,
  rows: readonly (readonly unknown[])[],
): readonly AnswerCount[] {
  const counted = rows.map(([answer, count]) => ({
    answer: isMultiple(question) ? plainText(String(answer)) : String(answer),
    count: Number(count),
  }))
  const is_scale = question['type'] === 'rating'
  const expected = [...new Set(is_scale ? scaleOf(question) : choicesOf(question))]
  const byText = new Map(counted.map((one) => [one.answer, one]))
  const offered = expected.map((answer) => byText.get(answer) ?? { answer, count: 0 })
  if (!is_scale) return [...counted, ...offered.filter(({ count }) => count === 0)]
  return [...offered, ...counted.filter(({ answer }) => !expected.includes(answer))]
}

/** The number of responses that have an answer, by the rows of the query. */
export const answeredOf = (rows: readonly (readonly unknown[])[]): number =>
  Number(rows[0]?.[2] ?? 0)

/** Members of lists come as JSON: `"Price"`. */
function plainText(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : json
  } catch {
    return json
  }
}

/** The choices that are offered; an open one is answered by any text. */
export function choicesOf({ choices, hasOpenChoice }: SurveyMembers): readonly string[] {
  const texts = listOf(choices).map(textOf)
  return hasOpenChoice === true ? texts.slice(0, -1) : texts
}

/** The numbers of a rating, as the SDK offers them: `0` to `10`, but `1` to `5`. */
export function scaleOf({ scale }: SurveyMembers): readonly string[] {
  const last = typeof scale === 'number' && scale >= 2 && scale <= 10 ? Math.trunc(scale) : 5
  const first = last === 10 ? 0 : 1
  return Array.from({ length: last - first + 1 }, (_, index) => String(first + index))
}

const FACES: Readonly<Record<number, readonly string[]>> = {
  2: ['👍', '👎'],
  3: ['🙁', '😐', '🙂'],
  5: ['😣', '🙁', '😐', '🙂', '😀'],
}

/** The faces of a rating from its lower end; undefined for one by numbers. */
export const facesOf = ({ display, scale }: SurveyMembers): readonly string[] | undefined =>
  display === 'emoji' ? FACES[Number(scale)] : undefined

type Score = {
  readonly name: string
  readonly value: number
  /** The number of responses that it is of. */
  readonly count: number
}

/** The score of a rating in words: `NPS 42` of a scale to 10, else the mean; null without answers. Answers beyond the scale have no part in it. */
export function scoreOf(question: SurveyMembers, answers: readonly AnswerCount[]): Score | null {
  const scale = new Set(scaleOf(question))
  const rated = answers.flatMap(({ answer, count }) =>
    scale.has(answer) ? [{ rating: Number(answer), count }] : [],
  )
  const total = rated.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return null
  if (question['scale'] === 10) {
    const countOf = (is: (rating: number) => boolean): number =>
      rated.reduce((sum, { rating, count }) => sum + (is(rating) ? count : 0), 0)
    const score = countOf((rating) => rating >= 9) - countOf((rating) => rating <= 6)
    return { name: 'Net promoter score', value: Math.round((score / total) * 100), count: total }
  }
  const sum = rated.reduce((all, { rating, count }) => all + rating * count, 0)
  return { name: 'Mean', value: sum / total, count: total }
}
