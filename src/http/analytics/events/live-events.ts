/** Events as they are committed: as a stream of server-sent events, or once as JSON. */

import { LiveEvents, LiveEventsQuery } from '../../../contract/analytics/events.ts'
import { Refusal } from '../../../errors.ts'
import { isShown, rightsAt } from '../../../projects/rights/rights.ts'
import { matchingEventsTree } from '../../../query/lists/events.ts'
import { formatUuid } from '../../../uuid.ts'
import { answerJsonText } from '../../answers/answers.ts'
import { queryValue } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { projectRoute } from '../../route.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { runTree } from '../queries/run-tree.ts'
import { contextOf, readEventConditions } from './events.ts'
import { type FindMatches, readMatchingBatch } from './live-batch.ts'
import { LiveStreams } from './live-streams.ts'

const EVENT_LENGTH_MAX = 400

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  // A proxy that collects the answer would deliver it at its end.
  'X-Accel-Buffering': 'no',
}

export const LIVE_EVENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'events/live/',
    scope: 'query:read',
    summary:
      'Events as they are committed: a stream with `Accept: text/event-stream`, otherwise the newest ones once.',
    query: LiveEventsQuery,
    answers: { 200: LiveEvents },
    answer: async (app, call) => {
      const { caller, project, request } = call
      const filter = {
        project_id: project.id,
        event: (queryValue(request, 'event') || null)?.slice(0, EVENT_LENGTH_MAX) ?? null,
        has_persons: isShown(rightsAt(app.control, caller, call), 'event.person'),
        findMatches: matchFinder(app, call),
      }
      const after_seq = readPosition(request)
      const is_stream = acceptsStream(request)
      const streams = streamsOf(app)
      if (is_stream) streams.requireRoom(caller.id)
      const first = await readMatchingBatch(app, filter, after_seq)
      if (!is_stream) return answerJsonText(first.json)
      const is_resumed = after_seq !== null
      const stream = streams.open({ caller_id: caller.id, filter, first, is_resumed })
      return new Response(stream, { headers: STREAM_HEADERS })
    },
  }),
] as const

/** Returns the test for conditions of the query string beyond the event's name; null without any. */
function matchFinder(app: AppContext, call: QueryCall): FindMatches | null {
  const conditions = readEventConditions(call.request)
  if (Object.values(conditions).every((condition) => condition === null)) return null
  return async (events) => {
    const times = events.map(({ timestamp }) => timestamp)
    const request = {
      ...conditions,
      events: [],
      after_us: BigInt(Math.min(...times, NO_TIME_US)) - 1n,
      before_us: BigInt(Math.max(...times, 0)) + 1n,
    }
    // Without an event there is nothing to find, but conditions are checked.
    const uuids = events.length === 0 ? [NIL_UUID] : events.map(({ uuid }) => formatUuid(uuid))
    const tree = matchingEventsTree(request, uuids, contextOf(app, call))
    const { rows } = await runTree(app, { ...call, socket: null }, 'events/live', tree)
    return new Set(rows.map(([uuid]) => String(uuid)))
  }
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000'
/** The year 2999. */
const NO_TIME_US = 32_472_144_000_000_000

const acceptsStream = (request: Request): boolean =>
  /^text\/event-stream\b/i.test(request.headers.get('accept') ?? '')

/** Reads the position of a client. Refuses any other text. */
function readPosition(request: Request): number | null {
  const text = request.headers.get('last-event-id') || queryValue(request, 'after') || null
  if (text === null) return null
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new Refusal('invalid_input', 'Must be the id of a message.', { attr: 'after' })
}

const STREAMS = new WeakMap<AppContext, LiveStreams>()

/** The streams of a server. */
function streamsOf(app: AppContext): LiveStreams {
  const streams = STREAMS.get(app) ?? new LiveStreams(app)
  STREAMS.set(app, streams)
  return streams
}
