/** A fault in a HogQL text, told with line and column and shown with its place. */

import { Refusal, type Span } from '../errors.ts'

/** Longest piece of the caller's text that is quoted back. */
const QUOTED_LENGTH_MAX = 40

/** A refusal that names line and column (both from 1, columns in UTF-16 units) and carries the span for editors. */
export function syntaxError(text: string, span: Span, message: string): Refusal {
  const before = text.slice(0, span.start)
  const line = before.split('\n').length
  const column = before.length - before.lastIndexOf('\n')
  return new Refusal('invalid_input', `Line ${line}, column ${column}: ${message}`, {
    attr: 'query',
    span,
  })
}

/** A piece of the text in quotes, shortened, fit for a message. */
export function quotePiece(text: string, span: Span): string {
  const piece = text.slice(span.start, Math.min(span.end, span.start + QUOTED_LENGTH_MAX))
  const whole = span.end - span.start <= QUOTED_LENGTH_MAX
  return `"${piece.toWellFormed()}${whole ? '' : '…'}"`
}
