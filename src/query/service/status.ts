/** The status of a background query as a state machine: STATUS_TRANSITIONS lists every transition; pure. */

/** The states of a query; `gone` is the absence of a status. */
export type StatusState = 'failed' | 'finished' | 'running' | 'waiting'

/** A query's status as stored, times in milliseconds since 1970. */
export type QueryStatus = {
  readonly id: string
  readonly project_id: number
  /** The caller's key; the id is unique only per caller. */
  readonly caller: string
  /** Identifies this run of the query. */
  readonly task_id: string
  readonly state: StatusState
  readonly query_async: boolean
  readonly labels: readonly string[]
  readonly error_message: string | null
  readonly start_ms: number
  readonly pickup_ms: number | null
  readonly end_ms: number | null
  readonly expiration_ms: number
}

/** Identifies a query. */
export type StatusKey = Pick<QueryStatus, 'caller' | 'id' | 'project_id'>

/** Prints a key, for a Map. */
export function statusKeyText({ project_id, caller, id }: StatusKey): string {
  return JSON.stringify([project_id, caller, id])
}

/** An event that may change a status. */
export type StatusEvent =
  | { readonly kind: 'cancel' | 'expire' | 'finish' | 'restart' | 'start' }
  | { readonly kind: 'fail'; readonly message: string }

type StatusTransition = {
  readonly kind: StatusEvent['kind']
  readonly from: readonly StatusState[]
  readonly to: StatusState | 'gone'
}

/** A status expires this long after its last transition. */
export const STATUS_KEPT_MS = 20 * 60 * 1000

/** The error message of a query whose end could not be stored. */
export const LOST = 'The end of the query could not be kept. Ask it again.'

/** The error message of a query that ran while events of its project were deleted. */
export const OUTDATED = 'Data that the query is about has been deleted meanwhile. Ask it again.'

/** The error message of a query that ran when the server stopped. */
const INTERRUPTED = 'The server was restarted while the query ran. Ask it again.'

/** All transitions. An event without a line for the state changes nothing: the end of a cancelled query, for example. */
export const STATUS_TRANSITIONS: readonly StatusTransition[] = [
  { kind: 'start', from: ['waiting'], to: 'running' },
  { kind: 'finish', from: ['waiting', 'running'], to: 'finished' },
  { kind: 'fail', from: ['waiting', 'running'], to: 'failed' },
  { kind: 'restart', from: ['waiting', 'running'], to: 'failed' },
  { kind: 'expire', from: ['finished', 'failed'], to: 'gone' },
  { kind: 'cancel', from: ['waiting', 'running', 'finished', 'failed'], to: 'gone' },
]

/** The members of a status that the request determines. */
type NewStatus = Pick<
  QueryStatus,
  'caller' | 'id' | 'labels' | 'project_id' | 'query_async' | 'task_id'
>

/** Makes an id for a query or a run of one: a uuid4 without its dashes. */
export function newId(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

/** The status of a new query. */
export function newStatus(options: NewStatus, now_ms: number): QueryStatus {
  return {
    ...options,
    state: 'waiting',
    error_message: null,
    start_ms: now_ms,
    pickup_ms: null,
    end_ms: null,
    expiration_ms: now_ms + STATUS_KEPT_MS,
  }
}

/** Applies an event; null when the status ends, the same object when the event changes nothing. */
export function changeStatus(
  status: QueryStatus,
  event: StatusEvent,
  now_ms: number,
): QueryStatus | null {
  const move = STATUS_TRANSITIONS.find(
    ({ kind, from }) => kind === event.kind && from.includes(status.state),
  )
  if (move === undefined) return status
  if (event.kind === 'expire' && now_ms < status.expiration_ms) return status
  switch (move.to) {
    case 'gone':
      return null
    case 'running':
      return {
        ...status,
        state: 'running',
        pickup_ms: now_ms,
        expiration_ms: now_ms + STATUS_KEPT_MS,
      }
    case 'waiting':
      return status
    case 'finished':
    case 'failed':
      return {
        ...status,
        state: move.to,
        error_message: messageOf(event),
        pickup_ms: status.pickup_ms ?? (event.kind === 'finish' ? now_ms : null),
        end_ms: now_ms,
        expiration_ms: now_ms + STATUS_KEPT_MS,
      }
  }
}

function messageOf(event: StatusEvent): string | null {
  if (event.kind === 'fail') return event.message
  return event.kind === 'restart' ? INTERRUPTED : null
}

/** The progress of a running query as the API reports it: seconds elapsed, microseconds of processor time. */
export type QueryProgress = {
  readonly bytes_read: number
  readonly rows_read: number
  readonly estimated_rows_total: number
  readonly time_elapsed: number
  readonly active_cpu_time: number
}

/** Serializes a status as a JSON object. */
export function statusText(status: QueryStatus, progress: QueryProgress | null): string {
  return JSON.stringify({
    id: status.id,
    team_id: status.project_id,
    complete: isComplete(status),
    error: status.state === 'failed',
    error_message: status.error_message,
    query_async: status.query_async,
    query_progress: progress,
    start_time: isoTime(status.start_ms),
    end_time: isoTime(status.end_ms),
    pickup_time: isoTime(status.pickup_ms),
    expiration_time: isoTime(status.expiration_ms),
    dashboard_id: null,
    insight_id: null,
    labels: status.labels,
    task_id: status.task_id,
  })
}

/** True for a query that has ended. */
export function isComplete({ state }: QueryStatus): boolean {
  return state === 'finished' || state === 'failed'
}

/** Prints a time as ISO 8601. */
export function isoTime(time_ms: number | null): string | null {
  return time_ms === null ? null : new Date(time_ms).toISOString()
}
