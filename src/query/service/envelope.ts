/** The bodies of the query endpoint: results are spliced in as the bytes they came as, never parsed. */

import type { PreparedQuery } from '../kinds/prepared-query.ts'
import type { ComputedAnswer } from './cache.ts'
import { patienceMs } from './refresh.ts'
import { type QueryProgress, type QueryStatus, statusText } from './status.ts'

/** How long a client should wait before it asks again for something newer. */
const CLIENT_REFRESH_MS = 60_000

type EnvelopeBody = Uint8Array<ArrayBuffer>

/** The body of an answer; beside a cached one, `status` is that of the background query that renews it. */
export function answerBody(
  { cache_key, freshness, said }: PreparedQuery,
  { head, results, last_refresh_ms }: ComputedAnswer,
  { is_cached, status }: { readonly is_cached: boolean; readonly status: QueryStatus | null },
): EnvelopeBody {
  const fresh_ms = patienceMs('blocking', freshness, last_refresh_ms)
  const members = JSON.stringify({
    ...said,
    is_cached,
    last_refresh: isoTime(last_refresh_ms),
    next_allowed_client_refresh: isoTime(last_refresh_ms + CLIENT_REFRESH_MS),
    cache_key,
    cache_target_age: Number.isFinite(fresh_ms) ? isoTime(last_refresh_ms + fresh_ms) : null,
  })
  const query_status = status === null ? 'null' : withResults(statusText(status, null))
  const tail = `,${head.slice(1, -1)},${members.slice(1, -1)},"query_status":${query_status}}`
  return Buffer.concat([Buffer.from('{"results":'), results, Buffer.from(tail)])
}

/** The body for a query that has no answer yet; `status` null says that none is being computed. */
export function noAnswerBody(
  { cache_key }: PreparedQuery,
  status: QueryStatus | null,
): EnvelopeBody {
  const query_status = status === null ? 'null' : withResults(statusText(status, null))
  const text = `{"cache_key":${JSON.stringify(cache_key)},"query_status":${query_status}}`
  return Buffer.from(text)
}

/** The body that tells a status; `results` are the whole body of a finished query's answer. */
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

function isoTime(time_ms: number): string {
  return new Date(time_ms).toISOString()
}
