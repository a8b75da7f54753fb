/** Turns errors of DuckDB into refusals that contain no path and no value of a row. */
import { errorMessage } from '../../error-message.ts'
import { type ErrorCode, Refusal } from '../../errors.ts'
import {
  ENGINE_EXHAUSTED,
  ENGINE_FAULT,
  NO_ROOM,
  OPENING_FAILED,
} from '../engine/engine-refusals.ts'
import { NoRoom } from './limits/opening-room.ts'

/** Beginnings of DuckDB's messages about a Parquet file that was damaged since its project was opened. */
const FILE_DAMAGES = [
  "Invalid Input Error: File '",
  'Invalid Input Error: No magic bytes found at end of file',
  'Invalid Input Error: Invalid string encoding found in Parquet file',
  'Invalid Input Error: Failed to read file',
  'Invalid Input Error: The width (',
  "Invalid Error: don't know what type",
  'Invalid Error: Out of buffer',
  'Invalid Error: Payload value bigger than allowed',
] as const

/** The error code by the beginning of DuckDB's message. */
const CODES: readonly (readonly [beginning: string, code: ErrorCode])[] = [
  // The message when `max_temp_directory_size` is reached.
  ['Out of Memory Error: failed to offload data block', 'query_too_large'],
  ['Out of Memory Error', 'query_memory'],
  ['Out of memory', 'query_memory'],
  ['std::bad_alloc', 'query_memory'],
  // The runtime's own, when it cannot allocate the bytes of an answer.
  ['Failed to allocate memory', 'query_memory'],
  ['INTERRUPT Error', 'query_cancelled'],
  ['IO Error', 'storage_unavailable'],
  // Errors of opening a project's files on a full or read-only disk.
  ['ENOSPC', 'storage_unavailable'],
  ['EDQUOT', 'storage_unavailable'],
  ['EROFS', 'storage_unavailable'],
  ['EACCES', 'storage_unavailable'],
  ['EPERM', 'storage_unavailable'],
  ...FILE_DAMAGES.map((beginning) => [beginning, 'storage_unavailable'] as const),
]

const DETAILS: Partial<Record<ErrorCode, string>> = {
  query_memory: 'The query needs more memory than it may use. Ask for less at a time.',
  query_too_large:
    'The query needs more room on disk than queries may use. Ask for less at a time.',
  query_cancelled: 'The query was cancelled.',
  storage_unavailable: 'A file that the query needs cannot be read.',
}

const OUT_OF_RANGE = 'A number or a time of the query goes beyond the range of its type.'

/** Details that replace DuckDB's message, by its beginning, where the message would not help a caller. */
const OWN_DETAILS: readonly (readonly [beginning: string, detail: string])[] = [
  ['Out of Range Error', OUT_OF_RANGE],
  ['micros out of int64 range', 'A time of the query is out of range.'],
  ['days out of int32 range', 'A date of the query is out of range.'],
  ['Conversion Error', 'A value cannot be turned into the type that the query needs.'],
  ['Binder Error', 'The query uses a function or an operator with types that it does not take.'],
  ['Catalog Error', 'The query uses something that the engine does not have.'],
  ['Parser Error', 'The query cannot be given to the engine.'],
  ['Failed to extract statements', 'The query cannot be given to the engine.'],
  ['The map key list does not align', 'A map needs as many values as keys.'],
  ['Map keys can not be NULL', 'A key of a map is NULL.'],
  ['MAP_CONCAT only takes map arguments', 'mapConcat takes maps only.'],
  ['Failed to parse format specifier', 'A format of the query cannot be read.'],
  ['Invalid input for hex digit', 'A text that should be hexadecimal has another character.'],
  ['Not implemented Error', 'The query uses something that the engine does not have.'],
]

/** Messages of the engine's regular expressions about an invalid pattern; a colon and the pattern follow. */
const PATTERN_FAULTS: ReadonlySet<string> = new Set([
  'invalid escape sequence',
  'invalid character class',
  'invalid character class range',
  'missing ]',
  'missing )',
  'unexpected )',
  'trailing \\',
  'no argument for repetition operator',
  'invalid repetition size',
  'bad repetition operator',
  'invalid perl operator',
  'invalid UTF-8',
  'invalid named capture group',
  'pattern too large - compile failed',
])

/** Beginnings of messages of internal errors, after which DuckDB refuses everything. */
const FAULTS = ['INTERNAL Error', 'FATAL Error'] as const

/** Beginnings of messages of the bindings when they cannot allocate objects. */
const EXHAUSTED = ['Failed to create', 'Failed to register', 'Failed to connect'] as const

/** Thrown when a project cannot be opened and no file is damaged; a new worker may be able to. */
class OpeningFailed extends Error {
  override readonly name = 'OpeningFailed'
}

/** Converts an error of opening a project: errors that a new worker may not have become `OpeningFailed`. */
export function openingError(error: unknown): unknown {
  if (error instanceof Refusal || error instanceof OpeningFailed || error instanceof NoRoom) {
    return error
  }
  const message = errorMessage(error)
  const code = codeOf(message)
  const is_passing =
    code === 'storage_unavailable' || FAULTS.some((beginning) => message.startsWith(beginning))
  return is_passing ? error : new OpeningFailed(message)
}

/** True for an error of DuckDB about a file that it cannot decode. */
export function isFileDamage(error: unknown): boolean {
  const message = errorMessage(error)
  return FILE_DAMAGES.some((beginning) => message.startsWith(beginning))
}

/** An error code of the API, or one for failures of the engine. */
export type SentCode =
  | ErrorCode
  | typeof ENGINE_EXHAUSTED
  | typeof ENGINE_FAULT
  | typeof NO_ROOM
  | typeof OPENING_FAILED

/** The refusal that is sent instead of an answer. */
type WorkerRefusal = {
  readonly code: SentCode
  readonly detail: string
}

/**
 * Turns every error of a query into a refusal. Refusals pass unchanged; an internal error keeps its whole message,
 * which is only logged. With `is_worn` the worker had little memory left before the query began, so that running out
 * of it is not the query's fault.
 */
export function engineRefusal(error: unknown, is_worn = false): WorkerRefusal {
  if (error instanceof Refusal) return error
  if (error instanceof OpeningFailed) return { code: OPENING_FAILED, detail: error.message }
  if (error instanceof NoRoom) return { code: NO_ROOM, detail: error.message }
  const message = errorMessage(error)
  if (FAULTS.some((fault) => message.startsWith(fault)))
    return { code: ENGINE_FAULT, detail: message }
  const code = codeOf(message)
  const is_exhausted = EXHAUSTED.some((beginning) => message.startsWith(beginning))
  if (is_exhausted || (is_worn && code === 'query_memory')) {
    return { code: ENGINE_EXHAUSTED, detail: message }
  }
  return { code, detail: DETAILS[code] ?? detailOf(message) }
}

function codeOf(message: string): ErrorCode {
  return CODES.find(([beginning]) => message.startsWith(beginning))?.[1] ?? 'query_failed'
}

/** DuckDB's kind of an error, and the mark of a message that the query itself names: without it, one could read like DuckDB's. */
const KIND = /^[A-Z][A-Za-z ]* Error: (?:throwIf: )?/

const LENGTH_MAX = 300

/** The detail from OWN_DETAILS, or what is wrong with a pattern; else the message's first line without DuckDB's prefix, quoted values and paths. */
function detailOf(message: string): string {
  if (message.startsWith('Conversion Error') && /out of range|overflow/i.test(message)) {
    return OUT_OF_RANGE
  }
  const without_kind = message.replace(KIND, '')
  const own_detail = OWN_DETAILS.find(
    ([beginning]) => message.startsWith(beginning) || without_kind.startsWith(beginning),
  )
  if (own_detail !== undefined) return own_detail[1]
  const pattern_fault = without_kind.split(': ', 1)[0] ?? ''
  if (PATTERN_FAULTS.has(pattern_fault)) {
    return `A regular expression of the query cannot be read: ${pattern_fault}.`
  }
  const line = message.split('\n', 1)[0]?.split(/Input: ?"/, 1)[0] ?? ''
  const clean = line
    .replace(KIND, '')
    .replace(/"[^"]*"|'[^']*'/g, '…')
    .replace(/(?<![\w)])\/[^\s,;:)]+/g, '…')
    .trim()
  return clean.slice(0, LENGTH_MAX) || 'The query failed.'
}
