/**
 * RESULT_VIEWS: how rows are shown. The chosen one is in the address; `displays` are its names in saved insights, of
 * which the first is written.
 */
export const RESULT_VIEWS = [
  { value: 'table', text: 'Table', displays: ['ActionsTable'] },
  { value: 'line', text: 'Line', displays: ['ActionsLineGraph', 'ActionsAreaGraph'] },
  { value: 'bar', text: 'Bars', displays: ['ActionsBar', 'ActionsStackedBar'] },
  { value: 'number', text: 'Number', displays: ['BoldNumber'] },
] as const

export type ResultView = (typeof RESULT_VIEWS)[number]['value']

/** A view from an address; the table for anything else. */
export function readView(text: string): ResultView {
  return RESULT_VIEWS.find(({ value }) => value === text)?.value ?? 'table'
}

/** The name of a view in a saved insight. */
export const displayOf = (view: ResultView): string =>
  RESULT_VIEWS.find(({ value }) => value === view)?.displays[0] ?? 'ActionsTable'

/** The view of a saved insight's `display`; the table for anything else. */
export function viewOfDisplay(display: unknown): ResultView {
  const named = RESULT_VIEWS.find(({ displays }) => displays.some((name) => name === display))
  return named?.value ?? 'table'
}
