/** Response bodies of the query endpoint: results are spliced in as the bytes that the worker wrote, never parsed. */

import type { PreparedQuery } from '../kinds/prepared-query.ts'
import type { ComputedAnswer } from './cache.ts'
import { maxAgeMs } from './refresh.ts'
import { isoTime, type QueryProgress, type QueryStatus, statusText } from './status.ts'

/** The time that a client should wait before it requests a newer answer, unless its kind has another. */
const CLIENT_WAIT_MS = 60_000

type EnvelopeBody = Uint8Array<ArrayBuffer>

/** An answer before its results are spliced into its body. */
export type AnswerParts = {
  /** JSON as UTF-8; null when there is no answer yet. */
  readonly results: Uint8Array | null
  /** The other members: a JSON object as text. */
  readonly members: string
}

/** The last body of results, and its other members: recent answers of the cache are the same objects each time. */
const last_bodies = new WeakMap<
  Uint8Array,
  { readonly members: string; readonly body: EnvelopeBody }
>()

/** Splices the results into the body. Callers do not change its bytes. */
export function joinParts({ results, members }: AnswerParts): EnvelopeBody {
  if (results === null) return Buffer.from(members)
  const last = last_bodies.get(results)
  if (last?.members === members) return last.body
  const tail = `,${members.slice(1)}`
  const body = Buffer.concat([Buffer.from('{"results":'), results, Buffer.from(tail)])
  last_bodies.set(results, { members, body })
  return body
}

/**
 * The last parts of each recent answer, which end with it. A query is recognized by the echo that its preparation made: the
 * query itself keeps the definitions that it has read.
 */
const last_parts = new WeakMap<
  ComputedAnswer,
  { readonly echo: PreparedQuery['echo']; readonly parts: AnswerParts }
>()

/** Characters of the members that are kept of an answer: a query may be far longer than its results. */
const KEPT_LENGTH_MAX = 32 * 1024

/** Builds a cached answer that is not being renewed. */
export function cachedAnswerParts(query: PreparedQuery, answer: ComputedAnswer): AnswerParts {
  const last = last_parts.get(answer)
  if (last?.echo === query.echo) return last.parts
  const parts = answerParts(query, answer, { is_cached: true, status: null })
  if (parts.members.length <= KEPT_LENGTH_MAX) last_parts.set(answer, { echo: query.echo, parts })
  return parts
}

/** Builds an answer; with a cached one, `status` is that of the background query that renews it. */
export function answerParts(
  { cache_key, freshness, echo }: PreparedQuery,
  answer: ComputedAnswer,
  { is_cached, status }: { readonly is_cached: boolean; readonly status: QueryStatus | null },
): AnswerParts {
  const { head, results, last_refresh_ms } = answer
  const fresh_ms = maxAgeMs('blocking', freshness, answer)
  const wait_ms = freshness.client_wait_ms ?? CLIENT_WAIT_MS
  const details = JSON.stringify({
    ...echo,
    is_cached,
    last_refresh: isoTime(last_refresh_ms),
    next_allowed_client_refresh: isoTime(last_refresh_ms + wait_ms),
    cache_key,
    cache_target_age: isoTime(last_refresh_ms + fresh_ms),
    calculation_trigger: null,
  })
  const query_status = status === null ? 'null' : withResults(statusText(status, null))
  const members = `{${head.slice(1, -1)},${details.slice(1, -1)},"query_status":${query_status}}`
  return { results, members }
}

/** Builds the answer of a query without results; `status` is null when none is being computed. */
export function noAnswerParts(
  { cache_key }: PreparedQuery,
  status: QueryStatus | null,
): AnswerParts {
  const query_status = status === null ? 'null' : withResults(statusText(status, null))
  const members = `{"cache_key":${JSON.stringify(cache_key)},"query_status":${query_status}}`
  return { results: null, members }
}

/** Builds the body of a status; `results` is the whole answer body of a finished query. */
export function statusBody(
  status: QueryStatus,
  results: Uint8Array | null,
  progress: QueryProgress | null,
): EnvelopeBody {
  const text = statusText(status, progress)
  if (results === null) return Buffer.from(`{"query_status":${withResults(text)}}`)
  const head = `{"query_status":${text.slice(0, -1)},"results":`
  return Buffer.concat([Buffer.from(head), results, Buffer.from('}}')])
}

function withResults(status_text: string): string {
  return `${status_text.slice(0, -1)},"results":null}`
}
