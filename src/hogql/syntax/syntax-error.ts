/** Refusals of faults in a HogQL text, with line, column and the text at that place. */

import { Refusal, type Span } from '../../errors.ts'

/** Maximum length of quoted text. */
const QUOTED_LENGTH_MAX = 40

/** A refusal with line and column (both from 1, columns in UTF-16 units) and the span, for editors. */
export function syntaxError(text: string, span: Span, message: string): Refusal {
  const before = text.slice(0, span.start)
  const line = before.split('\n').length
  const column = before.length - before.lastIndexOf('\n')
  return new Refusal('invalid_input', `Line ${line}, column ${column}: ${message}`, {
    attr: 'query',
    span,
  })
}

/** A piece of the text in quotes, shortened for a message. */
export function quotePiece(text: string, span: Span): string {
  const piece = text.slice(span.start, Math.min(span.end, span.start + QUOTED_LENGTH_MAX))
  const whole = span.end - span.start <= QUOTED_LENGTH_MAX
  return `"${piece.toWellFormed()}${whole ? '' : '…'}"`
}
