/** Events as they are committed: as a stream of server-sent events, or once as JSON. */
import { LiveEvents, LiveEventsQuery } from '../../contract/analytics/events.ts'
import { Refusal } from '../../errors.ts'
import { isShown, rightsAt } from '../../projects/rights.ts'
import { answerJsonText } from '../answers.ts'
import type { AppContext } from '../app-context.ts'
import { queryValue } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { readLiveBatch } from './live-batch.ts'
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
    answer: (app, call) => {
      const { caller, project, request } = call
      const filter = {
        project_id: project.id,
        event: (queryValue(request, 'event') || null)?.slice(0, EVENT_LENGTH_MAX) ?? null,
        has_persons: isShown(rightsAt(app.control, caller, call), 'event.person'),
      }
      const after_seq = readPosition(request)
      if (!acceptsStream(request)) {
        return answerJsonText(readLiveBatch(app, filter, after_seq).json)
      }
      const stream = streamsOf(app).open({ caller_id: caller.id, filter, after_seq })
      return new Response(stream, { headers: STREAM_HEADERS })
    },
  }),
] as const

const acceptsStream = (request: Request): boolean =>
  /^text\/event-stream\b/i.test(request.headers.get('accept') ?? '')

/** Reads where a client was. Refuses what is no position. */
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
