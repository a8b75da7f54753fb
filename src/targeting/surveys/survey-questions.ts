/** Normalizes a survey's questions and appearance: every question has an id, markup is sanitized. */

import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import { MarkupCleaner, TooMuchMarkup } from './survey-markup.ts'

type RawQuestion = Readonly<Record<string, unknown>>

const CONTENT_TYPES: ReadonlySet<unknown> = new Set(['text', 'html'])
const QUESTION_TEXTS = [
  'question',
  'description',
  'buttonText',
  'lowerBoundLabel',
  'upperBoundLabel',
]
const APPEARANCE_TEXTS = ['thankYouMessageHeader', 'thankYouMessageDescription']
const TRANSLATED_TEXTS = [
  'name',
  'description',
  ...APPEARANCE_TEXTS,
  'thankYouMessageCloseButtonText',
]
const MAIL_ADDRESS = /^mailto:[\w.%+-]+@[\w.-]+\.[a-z]{2,}$/i

/**
 * Returns questions as stored. Responses refer to questions by id: existing ids stay, new questions get one.
 */
export function storedQuestions(questions: unknown): Json {
  if (!Array.isArray(questions)) return null
  const cleaner = new MarkupCleaner()
  return questions.map((question: unknown, index) => keepQuestion(question, index, cleaner)) as Json
}

function keepQuestion(question: unknown, index: number, cleaner: MarkupCleaner): unknown {
  if (!isObject(question)) return question
  const place = `questions__${index}`
  requireContentType(question['descriptionContentType'], `${place}__descriptionContentType`)
  const { choices, link, id, translations } = question
  if (Array.isArray(choices) && choices.some(isBlank)) {
    throw refused(`${place}__choices`, 'Question choices cannot be empty')
  }
  if (typeof link === 'string' && link !== '') requireLink(link, `${place}__link`)
  const texts = { names: QUESTION_TEXTS, attr: place, cleaner }
  return {
    ...cleanTexts(question, texts),
    ...(isObject(translations)
      ? { translations: keepTranslations(translations, choices, texts) }
      : {}),
    id: typeof id === 'string' && id !== '' ? id : crypto.randomUUID(),
  }
}

/** Returns a survey's appearance as stored. */
export function storedAppearance(appearance: unknown): Json {
  if (!isObject(appearance)) return null
  const content_type = appearance['thankYouMessageDescriptionContentType']
  requireContentType(content_type, 'appearance__thankYouMessageDescriptionContentType')
  const { surveyPopupDelaySeconds: delay, whiteLabel: label } = appearance
  if (delay !== undefined && delay !== null && (typeof delay !== 'number' || delay < 0)) {
    const detail = 'Survey popup delay seconds must be a positive integer'
    throw refused('appearance__surveyPopupDelaySeconds', detail)
  }
  if (label !== undefined && label !== null && typeof label !== 'boolean') {
    throw refused('appearance__whiteLabel', 'whiteLabel must be a boolean')
  }
  const cleaner = new MarkupCleaner()
  return cleanTexts(appearance, { names: APPEARANCE_TEXTS, attr: 'appearance', cleaner }) as Json
}

/** Returns translations as stored, by language. */
export function storedTranslations(translations: unknown): Json {
  if (!isObject(translations)) return null
  const cleaner = new MarkupCleaner()
  const texts = { names: TRANSLATED_TEXTS, attr: 'translations', cleaner }
  return mapLanguages(translations, (members) => cleanTexts(members, texts)) as Json
}

/** Members with markup, and their path for refusals. */
type MarkedTexts = {
  readonly names: readonly string[]
  readonly attr: string
  readonly cleaner: MarkupCleaner
}

/**
 * Returns a question's translations as stored, by language. Translated choices belong to choices one by one; a question
 * without any has none.
 */
function keepTranslations(
  translations: RawQuestion,
  choices: unknown,
  texts: MarkedTexts,
): RawQuestion {
  const attr = `${texts.attr}__translations`
  return mapLanguages(translations, ({ choices: translated, ...members }) => {
    const { link } = members
    if (typeof link === 'string' && link !== '') requireLink(link, `${attr}__link`)
    const cleaned = cleanTexts(members, texts)
    if (!Array.isArray(choices) || !Array.isArray(translated)) return cleaned
    if (translated.length !== choices.length) {
      const detail = `A translation has ${translated.length} choices and its question ${choices.length} choices: partial translations are not possible.`
      throw refused(`${attr}__choices`, detail)
    }
    return { ...cleaned, choices: translated.map((choice) => cleanText(choice, texts)) }
  })
}

/** Whether a question chooses the one after it. */
const branches = (question: unknown): boolean =>
  isObject(question) && (question['branching'] ?? null) !== null

/** Refuses shuffled questions that choose the next question: clients cannot do both. */
export function requireOneOrder(questions: unknown, appearance: unknown): void {
  if (!Array.isArray(questions) || !isObject(appearance)) return
  if (appearance['shuffleQuestions'] !== true || !questions.some(branches)) return
  const detail =
    'Question shuffling and question branching cannot be used together. Please disable one of these features.'
  throw new Refusal('invalid_input', detail)
}

function mapLanguages(
  translations: RawQuestion,
  change: (members: RawQuestion) => RawQuestion,
): RawQuestion {
  const languages = Object.entries(translations).map(([language, members]) => [
    language,
    isObject(members) ? change(members) : members,
  ])
  return Object.fromEntries(languages) as RawQuestion
}

function cleanTexts(raw: RawQuestion, texts: MarkedTexts): RawQuestion {
  const cleaned = texts.names.flatMap((name) =>
    Object.hasOwn(raw, name) ? [[name, cleanText(raw[name], texts)] as const] : [],
  )
  return { ...raw, ...Object.fromEntries(cleaned) }
}

/** The text with harmless markup only; other values are unchanged. */
function cleanText(value: unknown, { attr, cleaner }: MarkedTexts): unknown {
  if (typeof value !== 'string') return value
  try {
    return cleaner.clean(value)
  } catch (error) {
    if (error instanceof TooMuchMarkup) throw refused(attr, error.message)
    throw error
  }
}

function isBlank(choice: unknown): boolean {
  return typeof choice === 'string' && choice.trim() === ''
}

function requireContentType(value: unknown, attr: string): void {
  if (value === undefined || value === null || value === '' || CONTENT_TYPES.has(value)) return
  const name = attr.split('__').at(-1) ?? attr
  throw refused(attr, `${name} must be one of ['text', 'html']`)
}

/** Accepts https and mailto links only: other schemes could run scripts. */
function requireLink(link: string, attr: string): void {
  if (/^mailto:/i.test(link)) {
    if (MAIL_ADDRESS.test(link)) return
    const detail =
      'Invalid mailto link. Please enter a valid mailto link (e.g., mailto:example@domain.com).'
    throw refused(attr, detail)
  }
  const url = URL.parse(link)
  if (url?.protocol === 'https:' && url.host !== '') return
  throw refused(attr, 'Link must be a URL with one of these schemes: [https, mailto]')
}

function refused(attr: string, detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}
