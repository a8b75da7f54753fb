/** What the engine says when a query fails, as a refusal that shows no path and no row. */
import { type ErrorCode, Refusal } from '../../errors.ts'
import { ENGINE_EXHAUSTED, ENGINE_FAULT, OPENING_FAILED } from '../engine/engine-refusals.ts'

/** How an engine message begins, and what that means for the caller. */
const MEANINGS: readonly (readonly [beginning: string, code: ErrorCode])[] = [
  // Said when `max_temp_directory_size` is reached.
  ['Out of Memory Error: failed to offload data block', 'query_too_large'],
  ['Out of Memory Error', 'query_memory'],
  ['Out of memory', 'query_memory'],
  ['std::bad_alloc', 'query_memory'],
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
  query_too_large:
    'The query needs more room on disk than queries may use. Ask for less at a time.',
  query_cancelled: 'The query was cancelled.',
  storage_unavailable: 'A file that the query needs cannot be read.',
}

/** How an engine message begins where its own words say nothing to a caller, and what they are sent instead. */
const WORDS: readonly (readonly [beginning: string, detail: string])[] = [
  ['Out of Range Error', 'A number or a time of the query goes beyond the range of its type.'],
  ['micros out of int64 range', 'A time of the query is out of range.'],
  ['days out of int32 range', 'A date of the query is out of range.'],
  ['Conversion Error', 'A value cannot be turned into the type that the query needs.'],
  ['Binder Error', 'The query uses a function or an operator with types that it does not take.'],
  ['Catalog Error', 'The query uses something that the engine does not have.'],
  ['Parser Error', 'The query cannot be given to the engine.'],
  ['Not implemented Error', 'The query uses something that the engine does not have.'],
]

/** How the engine says that it broke, and that it refuses everything since. */
const FAULTS = ['INTERNAL Error', 'FATAL Error'] as const

/** How the bindings say that they could not make what no query is needed for. */
const EXHAUSTED = ['Failed to create', 'Failed to register', 'Failed to connect'] as const

/** Thrown when a project cannot be opened and no file is at fault; a fresh process may be able to. */
export class OpeningFailed extends Error {
  override readonly name = 'OpeningFailed'
}

/** Rejects like the opening of a project; what the caller may not repeat elsewhere becomes `OpeningFailed`. */
export function openingError(error: unknown): unknown {
  if (error instanceof Refusal || error instanceof OpeningFailed) return error
  const message = error instanceof Error ? error.message : String(error)
  const code = codeOf(message)
  const is_passing = code === 'storage_unavailable' || FAULTS.some((it) => message.startsWith(it))
  return is_passing ? error : new OpeningFailed(message)
}

/** An error code, or what the server learns about the engine. */
export type SentCode =
  | ErrorCode
  | typeof ENGINE_EXHAUSTED
  | typeof ENGINE_FAULT
  | typeof OPENING_FAILED

/** What is sent back instead of an answer. */
export type WorkerRefusal = {
  readonly code: SentCode
  readonly detail: string
}

/**
 * Turns every error thrown while answering into what is sent back. Refusals pass unchanged; a failure of the engine
 * keeps its whole message, which is for the log. With `is_worn` the process had little room before the query began,
 * so that a lack of memory says nothing about the query.
 */
export function engineRefusal(error: unknown, is_worn = false): WorkerRefusal {
  if (error instanceof Refusal) return error
  if (error instanceof OpeningFailed) return { code: OPENING_FAILED, detail: error.message }
  const message = error instanceof Error ? error.message : String(error)
  if (FAULTS.some((fault) => message.startsWith(fault)))
    return { code: ENGINE_FAULT, detail: message }
  const code = codeOf(message)
  const is_exhausted = EXHAUSTED.some((it) => message.startsWith(it))
  if (is_exhausted || (is_worn && code === 'query_memory')) {
    return { code: ENGINE_EXHAUSTED, detail: message }
  }
  return { code, detail: DETAILS[code] ?? firstLine(message) }
}

function codeOf(message: string): ErrorCode {
  return MEANINGS.find(([beginning]) => message.startsWith(beginning))?.[1] ?? 'query_failed'
}

const LENGTH_MAX = 300

/** Our words where there are some; else the first line without the engine's own prefix, without what it quotes (values of rows, JSON) and without paths. */
function firstLine(message: string): string {
  const words = WORDS.find(([beginning]) => message.startsWith(beginning))
  if (words !== undefined) return words[1]
  const line = message.split('\n', 1)[0]?.split(/Input: ?"/, 1)[0] ?? ''
  const clean = line
    .replace(/^[A-Z][A-Za-z ]* Error: /, '')
    .replace(/"[^"]*"|'[^']*'/g, '…')
    .replace(/(?<![\w)])\/[^\s,;:)]+/g, '…')
    .trim()
  return clean.slice(0, LENGTH_MAX) || 'The query failed.'
}
