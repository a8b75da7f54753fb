/**
 * A server that answers as PostHog documents its API: limits of queries, statuses, shapes of lists, forms of times. Not a mock of
 * ours: the source of a move is another program.
 */
import createParser from '@posthog/hogql-parser'
import type { Json } from './two-servers.ts'

export type SourceEvent = {
  readonly uuid: string
  readonly event: string
  /** Microseconds since 1970. */
  readonly at: number
  readonly distinct_id: string
  readonly properties: Json
}

type SourceOptions = {
  readonly events: readonly SourceEvent[]
  readonly lists: Readonly<Record<string, Json | readonly Json[] | number>>
  /** A query over more time than this is broken off. */
  readonly span_max_ms: number
}

const HOUR_US = 3_600_000_000
/** Members of an error's body. */
const error = (status: number, code: string, detail: string, headers = {}): Response =>
  Response.json({ type: 'error', code, detail, attr: null }, { status, headers })

/** A time in the project's zone: an hour before UTC's, with microseconds. */
function localTime(at: number): string {
  const text = new Date(Math.floor((at + HOUR_US) / 1000)).toISOString().slice(0, 19)
  return `${text}.${String(at % 1_000_000).padStart(6, '0')}+01:00`
}

const instantOf = (value: unknown): number => {
  const text = String(value)
  return Math.floor(Date.parse(text) / 1000) * 1_000_000 + Number(text.slice(20, 26))
}

/** Starts the server; `log` has the HogQL of each query that it answered, `waits` the refused ones. */
export async function startPostHog({ events, lists, span_max_ms }: SourceOptions) {
  const parser = await createParser()
  const sorted = events.toSorted(
    (one, other) => one.at - other.at || (one.uuid < other.uuid ? -1 : 1),
  )
  const log: string[] = []
  const state = { throttled_until: 0, throttled: 0, slow: 0 }

  function answerQuery(query: string, values: Json): Response {
    const tree: Json = JSON.parse(parser.parseSelect(query, true))
    if (tree['error'] === true) return error(400, 'invalid', String(tree['message']))
    // A personal key may not page by offset; a query without a limit gets 100 rows.
    if (tree['offset'] !== undefined && tree['offset'] !== null) {
      return error(400, 'invalid', 'OFFSET is not supported')
    }
    log.push(query)
    const limit = Math.min(50_000, Number(/limit (\d+)$/.exec(query)?.[1] ?? 100))
    const rows = rowsOf(query, values)
    if (rows === null) return error(504, 'error', 'Query has hit the max execution time')
    return Response.json({
      results: rows.slice(0, limit),
      columns: [],
      types: [],
      is_cached: false,
    })
  }

  /** Null for a query that takes too long. */
  function rowsOf(query: string, values: Json): readonly unknown[] | null {
    if (query === 'select 1') return [[1]]
    if (query === 'select now()') return [[localTime(Date.now() * 1000)]]
    if (!query.includes('from events')) return query.startsWith('select count()') ? [[0]] : []
    if (query.startsWith('select count()')) return [[sorted.length]]
    const from = values['from'] === undefined ? 0 : instantOf(values['from'])
    if (query.startsWith('select timestamp')) {
      return sorted.filter(({ at }) => at >= from).map(({ at }) => [localTime(at)])
    }
    const until = instantOf(values['until'])
    if (until - from > span_max_ms * 1000) {
      state.slow += 1
      return null
    }
    const uuid = String(values['uuid'])
    return sorted
      .filter((one) => one.at < until && (one.at > from || (one.at === from && one.uuid > uuid)))
      .map((one) => [
        one.uuid,
        one.event,
        localTime(one.at),
        one.distinct_id,
        JSON.stringify(one.properties),
        '',
      ])
  }

  function answerList(path: string, parameters: URLSearchParams): Response {
    const list = Object.hasOwn(lists, path) ? lists[path] : []
    if (typeof list === 'number') {
      return error(list, 'payment_required', 'This feature is part of the premium offering.')
    }
    if (!Array.isArray(list)) return Response.json(list)
    if (path === 'actions/') return Response.json({ results: list })
    const offset = Number(parameters.get('offset') ?? 0)
    // Fewer than are asked for, as a server may.
    const limit = Math.min(20, Number(parameters.get('limit') ?? 100))
    const has_next = offset + limit < list.length
    // Behind a proxy that it does not know, a server names an address that is not its own.
    const next = has_next ? `http://internal.invalid/api/projects/1/${path}?offset=1` : null
    const results = list.slice(offset, offset + limit)
    return Response.json({ count: list.length, next, previous: null, results })
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const path = pathname.replace('/api/projects/1/', '')
      if (path === '') return error(403, 'permission_denied', 'API key missing required scope')
      if (path === 'groups_types/') return Response.json([])
      if (path !== 'query/') return answerList(path, searchParams)
      const { query } = (await request.json()) as { readonly query: Json }
      if (Date.now() < state.throttled_until) {
        state.throttled += 1
        // Whole seconds, cut down.
        return error(429, 'rate_limited', 'Request was throttled.', { 'Retry-After': '0' })
      }
      return answerQuery(String(query['query']), (query['values'] ?? {}) as Json)
    },
  })
  return { url: server.url.origin, log, state, stop: () => server.stop(true) }
}
