/** RESULT_VIEWS: how rows are shown. The chosen one is in the address. */
export const RESULT_VIEWS = [
  { value: 'table', text: 'Table' },
  { value: 'line', text: 'Line' },
  { value: 'bar', text: 'Bars' },
  { value: 'number', text: 'Number' },
] as const

export type ResultView = (typeof RESULT_VIEWS)[number]['value']

/** A view from an address; the table for anything else. */
export function readView(text: string): ResultView {
  return RESULT_VIEWS.find(({ value }) => value === text)?.value ?? 'table'
}
