/** What the engine says when a question fails, as a refusal that shows no path and no row. */
import { type ErrorCode, Refusal } from '../errors.ts'

/** How an engine message begins, and what that means for the asker. */
const MEANINGS: readonly (readonly [beginning: string, code: ErrorCode])[] = [
  ['Out of Memory Error', 'query_memory'],
  ['Out of memory', 'query_memory'],
  ['INTERRUPT Error', 'query_cancelled'],
  ['IO Error', 'storage_unavailable'],
]

const DETAILS: Partial<Record<ErrorCode, string>> = {
  query_memory: 'The query needs more memory than it may use. Ask for less at a time.',
  query_cancelled: 'The query was cancelled.',
  storage_unavailable: 'A file that the query needs cannot be read.',
}

/** Turns whatever was thrown while answering into a refusal; refusals pass unchanged. */
export function engineRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const message = error instanceof Error ? error.message : String(error)
  const code = MEANINGS.find(([beginning]) => message.startsWith(beginning))?.[1] ?? 'query_failed'
  return new Refusal(code, DETAILS[code] ?? firstLine(message))
}

const LENGTH_MAX = 300

/** The first line without the engine's own prefix, without what it quotes (values of rows, JSON) and without paths. */
function firstLine(message: string): string {
  const line = message.split('\n', 1)[0] ?? ''
  const clean = line
    .replace(/^[A-Z][A-Za-z ]* Error: /, '')
    .replace(/Input: ?".*$/, '')
    .replace(/"[^"]*"|'[^']*'/g, '…')
    .replace(/(?<![\w)])\/[^\s,;:)]+/g, '…')
    .trim()
  return clean.slice(0, LENGTH_MAX) || 'The query failed.'
}
