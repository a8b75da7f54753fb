/** SURVEY_KINDS: the ways in which a survey is shown, and choices whose stored value is none of them. Adding a kind means adding a line. */

type SurveyOption = { readonly value: string; readonly text: string }

export const SURVEY_KINDS = [
  { value: 'popover', text: 'Popover' },
  { value: 'widget', text: 'Feedback button' },
  { value: 'api', text: 'By your own code' },
] as const

/** The name of a kind; kinds that only API clients make have that of the API. */
export const kindText = (type: string): string =>
  SURVEY_KINDS.find(({ value }) => value === type)?.text ?? type.replaceAll('_', ' ')

/** The options, and the stored value as one of them where only the API sets it. */
export const withStored = (
  options: readonly SurveyOption[],
  value: string,
): readonly SurveyOption[] =>
  options.some((option) => option.value === value)
    ? options
    : [...options, { value, text: value.replaceAll('_', ' ') }]
