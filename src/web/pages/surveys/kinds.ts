/** SURVEY_KINDS: the ways in which a survey is shown. Adding one means adding a line. */

export const SURVEY_KINDS = [
  { value: 'popover', text: 'Popover' },
  { value: 'widget', text: 'Feedback button' },
  { value: 'api', text: 'By your own code' },
] as const

/** The name of a kind; kinds that only API clients make have that of the API. */
export const kindText = (type: string): string =>
  SURVEY_KINDS.find(({ value }) => value === type)?.text ?? type.replaceAll('_', ' ')
