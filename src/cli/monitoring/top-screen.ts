/** The screen of `tidemark top`, as lines of text. */
import { MIB } from '../../bytes.ts'
import { type MetricPage, quantileBetween, sumOf } from './metric-samples.ts'

/** A query that runs or waits, as the server lists it. */
export type ListedQuery = {
  readonly id: string
  readonly project_id: number
  readonly lane: string
  readonly labels: readonly string[]
  readonly state: string
  readonly elapsed_ms: number
}

/** The figures of the server at one moment. */
export type ServerReading = {
  readonly at_ms: number
  readonly metrics: MetricPage
  readonly queries: readonly ListedQuery[]
  /** The reasons why the server is not ready; empty when it is. */
  readonly reasons: readonly string[]
}

type ScreenOptions = {
  readonly url: string
  /** Columns of the terminal. */
  readonly width: number
  /** The query that a key would cancel. */
  readonly selected: number
}

type FigureLine = { readonly subject: string; readonly values: readonly string[] }

/** Draws the activity of a server: rates between two readings, and the queries of the later one. */
export function drawScreen(
  before: ServerReading,
  after: ServerReading,
  { url, width, selected }: ScreenOptions,
): readonly string[] {
  const lines = [
    `tidemark top  ${url}  ${after.reasons.length === 0 ? 'ready' : `not ready: ${after.reasons.join(' ')}`}`,
    '',
    ...figuresOf(before, after).map(
      ({ subject, values }) => `${subject.padEnd(10)}${values.join('   ')}`,
    ),
    '',
    queryLine('', 'PROJECT', 'LANE', 'STATE', 'SECONDS', 'QUERY'),
    ...after.queries.map((query, index) => {
      const { project_id, lane, state, elapsed_ms, labels } = query
      const mark = index === selected ? '>' : ''
      const seconds = (elapsed_ms / 1000).toFixed(1)
      return queryLine(mark, String(project_id), lane, state, seconds, labels.join(' '))
    }),
    ...(after.queries.length === 0 ? ['  no query runs'] : []),
  ]
  return lines.map((line) => cleanLine(line).slice(0, width))
}

function figuresOf(before: ServerReading, after: ServerReading): readonly FigureLine[] {
  const seconds = Math.max(0.001, (after.at_ms - before.at_ms) / 1000)
  const now = after.metrics
  const rate = (name: string, labels?: string): string =>
    compact((sumOf(now, name, labels) - sumOf(before.metrics, name, labels)) / seconds)
  const p99 = (name: string, labels = ''): string =>
    duration(
      quantileBetween(before.metrics, now, {
        name: `tidemark_${name}_seconds`,
        labels,
        share: 0.99,
      }),
    )
  const bytes = (name: string): string => `${compact(sumOf(now, name) / MIB)} MiB`
  const requests = 'tidemark_http_request_seconds_count'
  return [
    {
      subject: 'events',
      values: [
        `${rate('tidemark_events_accepted_total')}/s stored`,
        `${rate('tidemark_events_dropped_total')}/s dropped`,
        `p99 queue ${p99('commit_queue')}, commit ${p99('commit')}, sync ${p99('log_sync')}`,
      ],
    },
    {
      subject: 'requests',
      values: [
        `${rate(requests)}/s`,
        `${rate(requests, 'status="4')}/s 4xx`,
        `${rate(requests, 'status="5')}/s 5xx`,
        `p99 ${p99('http_request')}`,
      ],
    },
    {
      subject: 'queries',
      values: [
        `${sumOf(now, 'tidemark_questions_running')} running`,
        `${sumOf(now, 'tidemark_questions_waiting')} waiting`,
        `${rate('tidemark_question_seconds_count')}/s computed`,
        `p99 ${p99('question')}`,
      ],
    },
    {
      subject: 'threads',
      values: [
        `p99 late: main ${p99('event_loop_lag', 'thread="main"')}, data ${p99('event_loop_lag', 'thread="data"')}`,
      ],
    },
    {
      subject: 'storage',
      values: [
        `${compact(sumOf(now, 'tidemark_log_events'))} events in the log`,
        `${bytes('tidemark_snapshot_bytes')} in files`,
        `${bytes('tidemark_disk_free_bytes')} free on the disk`,
        `${bytes('tidemark_resident_bytes')} of memory`,
      ],
    },
  ]
}

function queryLine(
  ...[mark = '', project = '', lane = '', state = '', seconds = '', name = '']: readonly string[]
): string {
  return `${mark.padEnd(2)}${project.padEnd(9)}${lane.padEnd(13)}${state.padEnd(9)}${seconds.padStart(8)}  ${name}`
}

/** Names come from callers: control characters in them could write anywhere on the terminal. */
function cleanLine(line: string): string {
  return line.replaceAll(/\p{Cc}/gu, ' ')
}

function compact(value: number): string {
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en')
  return value.toFixed(1)
}

/** A bucket's bound as text: a value is at most that. */
function duration(bound_s: number | null): string {
  if (bound_s === null) return '–'
  if (!Number.isFinite(bound_s)) return 'more than 300 s'
  return bound_s < 1 ? `≤ ${bound_s * 1000} ms` : `≤ ${bound_s} s`
}
