/** GET /_metrics: the server's counters in Prometheus' text format. */
import { Refusal } from '../errors.ts'
import type { CounterRow } from '../ingest/notes/reports.ts'
import { networksOf } from '../networks.ts'
import { LAG_BUCKETS_S, readLag } from '../threads/loop-memory.ts'
import type { AppContext } from './app-context.ts'
import type { Endpoint } from './endpoint.ts'
import { answerRefusal } from './refusals.ts'

/** One value with its labels. The lines of a histogram have a suffix each. */
type MetricSample = {
  readonly suffix?: '_bucket' | '_count' | '_sum'
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

type MetricDefinition = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly read: (app: AppContext) => readonly MetricSample[]
}

const DROPPED = 'dropped:'

/** All metrics, in the order of the page. Labels hold project ids; never keys, tokens or names. */
const METRICS: readonly MetricDefinition[] = [
  counted('accepted', 'Events stored.'),
  counted('duplicate', 'Events that had been stored before.'),
  counted('merged', 'Distinct ids that were joined to a person, with or without one of their own.'),
  {
    name: 'tidemark_events_dropped_total',
    type: 'counter',
    help: 'Events of answered requests that were not kept.',
    read: ({ ingest }) =>
      ingest
        .listCounters()
        .filter(({ name }) => name.startsWith(DROPPED))
        .map((row) => sampleOf(row, { reason: row.name.slice(DROPPED.length) })),
  },
  figure('log_seq', 'The last committed event.', ({ ingest }) => ingest.readLog().seq),
  figure(
    'log_flushed_seq',
    'Events up to here are in snapshot files.',
    ({ ingest }) => ingest.readLog().flushed_seq,
  ),
  figure('log_events', 'Events that the log still holds.', ({ ingest }) => {
    const { seq, trimmed_seq } = ingest.readLog()
    return seq - trimmed_seq
  }),
  figure('snapshot_files', 'Snapshot files that count.', ({ ingest }) => ingest.readLog().files),
  figure('snapshot_bytes', 'Their size in bytes.', ({ ingest }) => ingest.readLog().file_bytes),
  figure(
    'removals_pending',
    'Deleted persons whose events still lie in files; no question sees them.',
    ({ ingest }) => ingest.readLog().removals_pending,
  ),
  {
    name: 'tidemark_snapshot_work_total',
    type: 'counter',
    help: 'Work on snapshot files since the start: snapshots, and steps of what else is done to files.',
    read: ({ snapshots }) =>
      Object.entries(snapshots.work).flatMap(([work, counts]) =>
        Object.entries(counts).map(([outcome, value]) => ({ labels: { work, outcome }, value })),
      ),
  },
  figure('questions_running', 'Questions in the engine.', ({ engine }) => engine.state.running),
  figure('questions_waiting', 'Questions that wait for it.', ({ engine }) => engine.state.waiting),
  {
    name: 'tidemark_query_processes_started_total',
    type: 'counter',
    help: 'Query processes started; more than one means that one ended.',
    read: ({ engine }) => [{ labels: {}, value: engine.state.processes_started }],
  },
  {
    name: 'tidemark_query_processes_ended_total',
    type: 'counter',
    help: 'Query processes that ended while the server ran, by reason: died by itself, or why it was killed.',
    read: ({ engine }) =>
      Object.entries(engine.state.processes_ended).map(([reason, value]) => ({
        labels: { reason },
        value,
      })),
  },
  {
    name: 'tidemark_query_opening_failures_total',
    type: 'counter',
    help: 'Projects that a query process could not open; a fresh process was started for each.',
    read: ({ engine }) => [{ labels: {}, value: engine.state.opening_failures }],
  },
  {
    name: 'tidemark_query_confined',
    type: 'gauge',
    help: '1 for what the query process cannot reach, else 0: other files, the network, other processes.',
    read: ({ engine }) => {
      const { landlock, seccomp } = engine.state.confinement
      return [
        { labels: { from: 'files' }, value: Number(landlock > 0) },
        { labels: { from: 'network' }, value: Number(seccomp) },
        { labels: { from: 'processes' }, value: Number(seccomp) },
      ]
    },
  },
  figure('query_engine_ready', '1 while queries can be answered, else 0.', ({ engine }) =>
    engine.state.unready === null ? 1 : 0,
  ),
  figure('resident_bytes', 'Memory of the serving process.', () => process.memoryUsage.rss()),
  {
    name: 'tidemark_event_loop_lag_seconds',
    type: 'histogram',
    help: 'How late timers of a thread run, since something else holds its event loop.',
    read: ({ event_loops }) =>
      Object.entries(event_loops).flatMap(([thread, memory]) => lagSamples(thread, memory)),
  },
  {
    name: 'tidemark_event_loop_lag_max_seconds',
    type: 'gauge',
    help: 'The longest such delay since the start.',
    read: ({ event_loops }) =>
      Object.entries(event_loops).map(([thread, memory]) => ({
        labels: { thread },
        value: readLag(memory).max_s,
      })),
  },
]

/** Headers that proxies and content networks add to a forwarded request, besides all of X-Forwarded-*. */
const PROXY_HEADERS = [
  'cdn-loop',
  'cf-connecting-ip',
  'cf-ray',
  'client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'forwarded',
  'true-client-ip',
  'via',
  'x-amzn-trace-id',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-original-forwarded-for',
  'x-real-ip',
] as const

const isLoopback = networksOf(['127.0.0.0/8', '::1'])

/** Whether a proxy has marked the request: then anyone may have sent it. */
function isForwarded(headers: Headers): boolean {
  if (PROXY_HEADERS.some((name) => headers.has(name))) return true
  return [...headers.keys()].some((name) => name.startsWith('x-forwarded-'))
}

/**
 * Whether the Host header of a request from this machine means this machine. A web page can let its own name
 * resolve to 127.0.0.1 and read what a local browser may read (DNS rebinding); the Host header still contains
 * the page's name.
 */
function namesThisMachine(request: Request, public_url: string): boolean {
  const host = request.headers.get('host')
  if (host === null) return true
  const url = URL.parse(`http://${host}`)
  if (url === null) return false
  const name = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const is_local = name === 'localhost' || name.endsWith('.localhost') || isLoopback(name)
  return is_local || url.hostname === URL.parse(public_url)?.hostname
}

/**
 * Creates the endpoint. It answers callers in `metrics_networks`; others, and callers behind a proxy, get 404.
 */
export function metricsEndpoints(app: AppContext): readonly Endpoint[] {
  const isAllowed = networksOf(app.metrics_networks)
  return [
    {
      method: 'GET',
      path: '/_metrics',
      answer(request, _params, socket) {
        const address = socket?.requestIP(request)?.address ?? ''
        const is_meant = !isLoopback(address) || namesThisMachine(request, app.publicUrl())
        if (isForwarded(request.headers) || !isAllowed(address) || !is_meant) {
          return answerRefusal(new Refusal('not_found', 'Endpoint not found.'))
        }
        return new Response(METRICS.map((metric) => printMetric(metric, app)).join(''), {
          headers: {
            'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
            'X-Content-Type-Options': 'nosniff',
          },
        })
      },
    },
  ]
}

/** A counter per project. */
function counted(counter: string, help: string): MetricDefinition {
  return {
    name:
      counter === 'merged' ? 'tidemark_persons_merged_total' : `tidemark_events_${counter}_total`,
    type: 'counter',
    help,
    read: ({ ingest }) =>
      ingest
        .listCounters()
        .filter(({ name }) => name === counter)
        .map((row) => sampleOf(row)),
  }
}

/** A number about the whole server. */
function figure(name: string, help: string, read: (app: AppContext) => number): MetricDefinition {
  const readOne: MetricDefinition['read'] = (app) => [{ labels: {}, value: read(app) }]
  return { name: `tidemark_${name}`, type: 'gauge', help, read: readOne }
}

function sampleOf(row: CounterRow, labels: MetricSample['labels'] = {}): MetricSample {
  return { labels: { project_id: String(row.project_id), ...labels }, value: row.value }
}

/** The samples of a histogram. Each bucket is cumulative: it counts all values up to its bound. */
function lagSamples(thread: string, memory: SharedArrayBuffer): readonly MetricSample[] {
  const { counts, sum_s } = readLag(memory)
  let total = 0
  const buckets = counts.map((count, index): MetricSample => {
    total += count
    const le = String(LAG_BUCKETS_S[index] ?? '+Inf')
    return { suffix: '_bucket', labels: { thread, le }, value: total }
  })
  return [
    ...buckets,
    { suffix: '_sum', labels: { thread }, value: sum_s },
    { suffix: '_count', labels: { thread }, value: total },
  ]
}

function printMetric({ name, type, help, read }: MetricDefinition, app: AppContext): string {
  const lines = read(app).map(
    ({ suffix = '', labels, value }) => `${name}${suffix}${printLabels(labels)} ${value}`,
  )
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

/** Prints labels. Their values are ids and names of this program, which need no escaping. */
function printLabels(labels: MetricSample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
