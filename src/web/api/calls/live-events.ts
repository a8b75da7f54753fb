/** Events as they come in: a stream from the server, which decides about all filters. */
import { useEffect, useState } from 'preact/hooks'
import { useProject } from '../../state/project.tsx'
import { type EventListFilters, type ListedEvent, queryOfFilters } from '../events.ts'
import { ApiError, download } from './call.ts'

export type LiveEventList = {
  /** The newest first. */
  readonly events: readonly ListedEvent[]
  /** About how many events came too fast to be listed. */
  readonly missed: number
  /** All events since the list began, the missed ones included. */
  readonly total: number
  readonly connection: LiveConnection
}

/** Of a stream: not there yet or lost with the server; there; blocked on its way; refused for good. */
type LiveConnection = 'connecting' | 'connected' | 'blocked' | 'refused'

const NOTHING: LiveEventList = { events: [], missed: 0, total: 0, connection: 'connecting' }

/** A list that grows for days would fill the tab. */
const EVENTS_MAX = 1000

/** Follows the events that come after `after`, the time of the newest known one; null waits. Rests in a hidden tab. */
export function useLiveEvents(
  filters: EventListFilters,
  after: string | null,
  is_live: boolean,
): LiveEventList {
  const { id } = useProject()
  const [list, setList] = useState(NOTHING)
  const key = JSON.stringify(filters)
  useEffect(() => setList(NOTHING), [key, after, id])
  useEffect(() => {
    if (!is_live || after === null) return undefined
    const stop = new AbortController()
    const following: EventSubscription = {
      project_id: id,
      filters,
      signal: stop.signal,
      onEvents: (events, missed) => setList((before) => appendEvents(before, events, missed)),
      onConnection: (connection) => setList((before) => ({ ...before, connection })),
    }
    void followStream(following, after)
    return () => stop.abort()
  }, [key, after, is_live, id])
  return list
}

function appendEvents(
  before: LiveEventList,
  events: readonly ListedEvent[],
  missed: number,
): LiveEventList {
  const known = new Set(before.events.map(({ id }) => id))
  const added = events.filter(({ id }) => !known.has(id))
  return {
    events: [...added, ...before.events].slice(0, EVENTS_MAX),
    missed: before.missed + missed,
    total: before.total + added.length + missed,
    connection: 'connected',
  }
}

type EventSubscription = {
  readonly project_id: number
  readonly filters: EventListFilters
  readonly signal: AbortSignal
  readonly onEvents: (events: readonly ListedEvent[], missed: number) => void
  readonly onConnection: (connection: LiveConnection) => void
}

type StreamMessage = {
  readonly events: readonly ListedEvent[]
  readonly missed: number
  readonly last_id: string
}

const POLL_MS = 2000
const WAIT_MAX_MS = 30_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Reads streams, one after the other: each one begins where the one before it ended. The first one begins with the
 * newest events that there are; those up to the time `known` are in the list already.
 */
async function followStream(all: EventSubscription, known: string): Promise<void> {
  const { signal, onConnection } = all
  const isNew = ({ timestamp }: ListedEvent): boolean => Date.parse(timestamp) > Date.parse(known)
  let after: string | null = null
  let is_first = true
  const following: EventSubscription = {
    ...all,
    onEvents: (events, missed) => {
      all.onEvents(is_first ? events.filter(isNew) : events, is_first ? 0 : missed)
      is_first = false
    },
  }
  let wait_ms = POLL_MS
  while (!signal.aborted) {
    if (document.hidden) {
      await pause(POLL_MS)
      continue
    }
    try {
      after = await readStream(following, after)
      wait_ms = POLL_MS
    } catch (error) {
      // The list belongs to the next stream already.
      if (signal.aborted) return
      const connection = connectionAfter(error)
      onConnection(connection)
      if (connection === 'refused') return
      await pause(wait_ms)
      wait_ms = Math.min(WAIT_MAX_MS, wait_ms * 2)
    }
  }
}

function connectionAfter(error: unknown): LiveConnection {
  if (!(error instanceof ApiError)) return 'connecting'
  if (error.code === 'blocked') return 'blocked'
  const is_passing = error.status < 400 || error.status === 429 || error.status >= 500
  return is_passing ? 'connecting' : 'refused'
}

/** Shows the messages of one stream until it ends, or the tab is hidden; returns the id of the last one. */
async function readStream(
  following: EventSubscription,
  start: string | null,
): Promise<string | null> {
  const { project_id, filters, signal, onEvents, onConnection } = following
  // A stream that is left, in a hidden tab, has to be closed too.
  const stop = new AbortController()
  const { body } = await download('GET', `/api/projects/${project_id}/events/live/`, {
    query: { ...queryOfFilters(filters), after: start },
    accept: 'text/event-stream',
    signal: AbortSignal.any([signal, stop.signal]),
  })
  if (body === null) return start
  onConnection('connected')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let after = start
  let text = ''
  try {
    while (!document.hidden) {
      const { done, value } = await reader.read()
      if (done || signal.aborted) break
      const blocks = `${text}${value}`.split('\n\n')
      text = blocks.pop() ?? ''
      for (const { events, missed, last_id } of blocks.flatMap(readMessage)) {
        onEvents(events, missed)
        after = last_id
      }
    }
    return after
  } catch (error) {
    // The caller goes on after the events that it has received.
    if (after === start || signal.aborted) throw error
    onConnection('connecting')
    return after
  } finally {
    stop.abort()
  }
}

/** Reads one block of a stream: a message, or nothing, as in blocks that only keep the connection open. */
function readMessage(block: string): readonly StreamMessage[] {
  const [, data] = /^data: (.*)$/m.exec(block) ?? []
  return data === undefined ? [] : [JSON.parse(data)]
}
