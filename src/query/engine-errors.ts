/** What the engine says when a question fails, as a refusal that shows no path and no row. */
import { type ErrorCode, Refusal } from '../errors.ts'
import { ENGINE_FAULT } from './engine-refusals.ts'

/** How an engine message begins, and what that means for the asker. */
const MEANINGS: readonly (readonly [beginning: string, code: ErrorCode])[] = [
  ['Out of Memory Error', 'query_memory'],
  ['Out of memory', 'query_memory'],
  ['INTERRUPT Error', 'query_cancelled'],
  ['IO Error', 'storage_unavailable'],
  // What opening a project's files says on a full or read-only disk.
  ['ENOSPC', 'storage_unavailable'],
  ['EDQUOT', 'storage_unavailable'],
  ['EROFS', 'storage_unavailable'],
  ['EACCES', 'storage_unavailable'],
  ['EPERM', 'storage_unavailable'],
]

const DETAILS: Partial<Record<ErrorCode, string>> = {
  query_memory: 'The query needs more memory than it may use. Ask for less at a time.',
  query_cancelled: 'The query was cancelled.',
  storage_unavailable: 'A file that the query needs cannot be read.',
}

/** How the engine says that it broke, and that it refuses everything since. */
const FAULTS = ['INTERNAL Error', 'FATAL Error'] as const

/** What is sent back instead of an answer. */
export type SentRefusal = {
  readonly code: ErrorCode | typeof ENGINE_FAULT
  readonly detail: string
}

/**
 * Turns whatever was thrown while answering into what is sent back. Refusals pass unchanged; a fault of the engine's
 * keeps its whole message, which is for the log.
 */
export function engineRefusal(error: unknown): SentRefusal {
  if (error instanceof Refusal) return error
  const message = error instanceof Error ? error.message : String(error)
  if (FAULTS.some((fault) => message.startsWith(fault)))
    return { code: ENGINE_FAULT, detail: message }
  const code = MEANINGS.find(([beginning]) => message.startsWith(beginning))?.[1] ?? 'query_failed'
  return { code, detail: DETAILS[code] ?? firstLine(message) }
}

const LENGTH_MAX = 300

/** The first line without the engine's own prefix, without what it quotes (values of rows, JSON) and without paths. */
function firstLine(message: string): string {
  const line = message.split('\n', 1)[0]?.split(/Input: ?"/, 1)[0] ?? ''
  const clean = line
    .replace(/^[A-Z][A-Za-z ]* Error: /, '')
    .replace(/"[^"]*"|'[^']*'/g, '…')
    .replace(/(?<![\w)])\/[^\s,;:)]+/g, '…')
    .trim()
  return clean.slice(0, LENGTH_MAX) || 'The query failed.'
}
