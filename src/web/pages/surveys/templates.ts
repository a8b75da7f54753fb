/** SURVEY_TEMPLATES: the surveys that a new one begins with, and QUESTION_TYPES. Adding one means adding a line. */
import type { DraftedSurvey, SurveyMembers } from './survey-draft.ts'

type SurveyTemplate = {
  readonly title: string
  readonly text: string
  readonly draft: DraftedSurvey
}

const BLANK: DraftedSurvey = {
  name: '',
  description: '',
  type: 'popover',
  questions: [],
  conditions: {},
  // Without it the SDK names PostHog as its author.
  appearance: {
    displayThankYouMessage: true,
    thankYouMessageHeader: 'Thank you!',
    whiteLabel: true,
  },
  linked_flag_id: null,
  targeting: null,
  schedule: 'once',
  responses_limit: null,
  iteration_count: null,
  iteration_frequency_days: null,
  others: {},
}

export const OPEN_QUESTION: SurveyMembers = { type: 'open', question: '' }

export const SURVEY_TEMPLATES: readonly SurveyTemplate[] = [
  {
    title: 'Net promoter score',
    text: 'How likely people are to recommend you, from 0 to 10, and why.',
    draft: {
      ...BLANK,
      name: 'Net promoter score',
      questions: [
        {
          type: 'rating',
          question: 'How likely are you to recommend us to a friend?',
          display: 'number',
          scale: 10,
          lowerBoundLabel: 'Unlikely',
          upperBoundLabel: 'Very likely',
        },
        { type: 'open', question: 'What is the main reason for your score?', optional: true },
      ],
    },
  },
  {
    title: 'Customer satisfaction',
    text: 'How satisfied people are, by five faces.',
    draft: {
      ...BLANK,
      name: 'Customer satisfaction',
      questions: [
        {
          type: 'rating',
          question: 'How satisfied are you with our product?',
          display: 'emoji',
          scale: 5,
          lowerBoundLabel: 'Not at all',
          upperBoundLabel: 'Very',
        },
      ],
    },
  },
  {
    title: 'Open feedback',
    text: 'One question, answered in people’s own words.',
    draft: {
      ...BLANK,
      name: 'Open feedback',
      questions: [{ type: 'open', question: 'What can we do better?' }],
    },
  },
  {
    title: 'Blank',
    text: 'Your own questions.',
    draft: { ...BLANK, questions: [OPEN_QUESTION] },
  },
]

type QuestionType = {
  readonly value: string
  readonly text: string
  /** The members that a question needs of this type. */
  readonly defaults: SurveyMembers
}

export const QUESTION_TYPES: readonly QuestionType[] = [
  { value: 'open', text: 'Text', defaults: {} },
  {
    value: 'rating',
    text: 'Rating',
    defaults: { display: 'number', scale: 5, lowerBoundLabel: 'Poor', upperBoundLabel: 'Great' },
  },
  { value: 'single_choice', text: 'One choice', defaults: { choices: ['Yes', 'No'] } },
  { value: 'multiple_choice', text: 'Several choices', defaults: { choices: ['One', 'Two'] } },
  { value: 'link', text: 'Link', defaults: { link: '' } },
]
