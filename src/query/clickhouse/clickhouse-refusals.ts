/** ClickHouse's errors in the words of this project: by their code, without a path, a server's name or a value. */

import { type ErrorCode, Refusal } from '../../errors.ts'
import { ClickHouseError } from '../../storage/clickhouse/clickhouse-client.ts'
import { EngineFault, refuseCancelled } from '../engine/engine-refusals.ts'

/** Codes of ClickHouse (`system.errors`) and ours. */
const MEANINGS: ReadonlyMap<number, ErrorCode> = new Map([
  [158, 'query_too_large'], // TOO_MANY_ROWS
  [159, 'query_timeout'], // TIMEOUT_EXCEEDED
  [160, 'query_timeout'], // TOO_SLOW
  [167, 'query_too_large'], // TOO_DEEP_AST
  [168, 'query_too_large'], // TOO_BIG_AST
  [191, 'query_too_large'], // SET_SIZE_LIMIT_EXCEEDED
  [198, 'storage_unavailable'], // DNS_ERROR
  [202, 'throttled'], // TOO_MANY_SIMULTANEOUS_QUERIES
  [209, 'storage_unavailable'], // SOCKET_TIMEOUT
  [210, 'storage_unavailable'], // NETWORK_ERROR
  [236, 'storage_unavailable'], // ABORTED, by a server that ends
  [241, 'query_memory'], // MEMORY_LIMIT_EXCEEDED
  [243, 'storage_unavailable'], // NOT_ENOUGH_SPACE
  [279, 'storage_unavailable'], // ALL_CONNECTION_TRIES_FAILED
  [306, 'query_too_large'], // TOO_DEEP_RECURSION
  [307, 'query_too_large'], // TOO_MANY_BYTES
  [394, 'query_cancelled'], // QUERY_WAS_CANCELLED
  [396, 'query_too_large'], // TOO_MANY_ROWS_OR_BYTES
  [425, 'storage_unavailable'], // SYSTEM_ERROR
  [439, 'storage_unavailable'], // CANNOT_SCHEDULE_TASK
  [999, 'storage_unavailable'], // KEEPER_EXCEPTION
])

/** Codes of a ClickHouse that is not as this server was set up for it: its operator must act. */
const MISFITS: ReadonlySet<number> = new Set([
  60, // UNKNOWN_TABLE
  81, // UNKNOWN_DATABASE
  115, // UNKNOWN_SETTING
  164, // READONLY, of a user who may not have the settings of a query
  192, // UNKNOWN_USER
  193, // WRONG_PASSWORD
  194, // REQUIRED_PASSWORD
  195, // IP_ADDRESS_NOT_ALLOWED
  291, // DATABASE_ACCESS_DENIED
  452, // SETTING_CONSTRAINT_VIOLATION
  497, // ACCESS_DENIED
  516, // AUTHENTICATION_FAILED
])

const DETAILS: Partial<Record<ErrorCode, string>> = {
  query_memory: 'The query needs more memory than it may use. Ask for less at a time.',
  query_timeout: 'The query took longer than it may.',
  query_too_large: 'The query reads or answers more than it may. Ask for less at a time.',
  throttled: 'Too many queries are running. Try again soon.',
}

/** Errors caused by the query itself: its values and types, or something this engine lacks. */
const FAULTS_OF_QUERY: ReadonlyMap<number, string> = new Map([
  ...[6, 26, 27, 32, 38, 41, 70, 72, 117, 130, 131, 349, 376, 407, 467, 675, 676].map(
    (code) => [code, 'A value cannot be turned into the type that the query needs.'] as const,
  ),
  ...[12, 36, 69, 128, 135, 153, 321, 353, 360, 490].map(
    (code) => [code, 'A value of the query goes beyond what its function takes.'] as const,
  ),
  ...[34, 35, 42, 43, 44, 53, 59, 124, 133, 169, 170, 184, 190, 386].map(
    (code) =>
      [code, 'The query uses a function or an operator with types that it does not take.'] as const,
  ),
  ...[1, 8, 10, 46, 48, 63, 403].map(
    (code) => [code, 'The query uses something that ClickHouse does not have.'] as const,
  ),
  [50, 'A value of the query has a type that ClickHouse cannot write into a file.'],
  [125, 'A subquery in place of one value has several rows.'],
  [215, 'A column of the query is not under an aggregate function and not in GROUP BY.'],
  [395, 'throwIf found its condition to be true.'],
  [427, 'A pattern of the query is not a regular expression.'],
])

/** A shard that ends while it answers breaks off what is read from it, with the code of a text that is too short. */
const FROM_SHARD = 'while receiving packet from'

/** The server takes a thousand fields of a form, unless it is set up otherwise: each text of a query is one, and each long list. */
const FORM_TOO_LARGE = 'HTML Form Exception'

const RETRY_AFTER_S = 5

/**
 * The error that callers get: a Refusal, or an EngineFault with the server's message for the log. A refusal for which
 * ClickHouse or the network is to blame has the cause, also for the log.
 */
export function refusalOf(error: unknown): Error {
  if (error instanceof Refusal) return error
  if (!(error instanceof ClickHouseError)) return unreachable(error)
  const { code, message } = error
  // A server in its place has answered: a proxy or a load balancer that does not reach it.
  if (code === null) return unreachable(error)
  if (MISFITS.has(code))
    return unavailable(error, 'ClickHouse refuses queries. The log of the server has the reason.')
  if (message.includes(FORM_TOO_LARGE))
    return new Refusal(
      'query_too_large',
      'The query has more different texts than ClickHouse takes, a thousand as a rule. Ask for less at a time.',
    )
  const known = message.includes(FROM_SHARD) ? 'storage_unavailable' : MEANINGS.get(code)
  if (known === 'query_cancelled') return refuseCancelled()
  if (known === 'storage_unavailable')
    return unavailable(error, 'A part of the events cannot be read now.')
  if (known !== undefined) {
    const extras = known === 'throttled' ? { retry_after_s: RETRY_AFTER_S } : {}
    return new Refusal(known, DETAILS[known] ?? '', extras)
  }
  const detail = FAULTS_OF_QUERY.get(code)
  return detail === undefined ? new EngineFault(message) : new Refusal('query_failed', detail)
}

/** Errors of the network, of an answer that breaks off, and of another server. */
const unreachable = (cause: unknown): Refusal =>
  unavailable(cause, 'ClickHouse cannot be reached now.')

function unavailable(cause: unknown, detail: string): Refusal {
  const refusal = new Refusal('storage_unavailable', detail, { retry_after_s: RETRY_AFTER_S })
  refusal.cause = cause
  return refusal
}
