/** METRICS: the server's figures about itself, printed in Prometheus' text format. */
import type { CounterRow } from '../../ingest/notes/reports.ts'
import { DURATION_BUCKETS_S, Histogram, type HistogramValues } from '../../threads/histogram.ts'
import { LAG_BUCKETS_S, readLag } from '../../threads/loop-memory.ts'
import type { AppContext } from '../app-context.ts'
import { listEdges } from '../edges/list-edges.ts'
import { findUnready } from '../health.ts'
import { CERTIFICATE_METRICS } from './certificate-metrics.ts'
import { counter, gauge, type MetricDefinition, type MetricSample } from './metric.ts'

const DROPPED = 'dropped:'

/** All metrics, in the order of the page. Labels hold project ids; never keys, tokens or names. */
export const METRICS: readonly MetricDefinition<AppContext>[] = [
  eventCounter('accepted', 'Events stored.'),
  eventCounter('duplicate', 'Events that had been stored before.'),
  eventCounter(
    'merged',
    'Distinct ids that were joined to a person, with or without one of their own.',
  ),
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
  gauge('log_seq', 'The last committed event.', ({ ingest }) => ingest.readLog().seq),
  gauge(
    'log_flushed_seq',
    'Events up to here are in snapshot files.',
    ({ ingest }) => ingest.readLog().flushed_seq,
  ),
  gauge('log_events', 'Events that the log still holds.', ({ ingest }) => {
    const { seq, trimmed_seq } = ingest.readLog()
    return seq - trimmed_seq
  }),
  gauge('snapshot_files', 'Snapshot files that count.', ({ ingest }) => ingest.readLog().files),
  gauge('snapshot_bytes', 'Their size in bytes.', ({ ingest }) => ingest.readLog().file_bytes),
  gauge(
    'removals_pending',
    'Deleted persons whose events still lie in files; no query sees them.',
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
  durations('snapshot_work', 'Finished steps of work on snapshot files, by kind.', ({ timings }) =>
    timings.snapshots.list(),
  ),
  durations(
    'commit_queue',
    'From the receipt of a request until the transaction that stores its events.',
    ({ timings }) => [unlabelled(new Histogram(timings.commits.queue))],
  ),
  durations('commit', 'Transactions of the event log, without their sync.', ({ timings }) => [
    unlabelled(new Histogram(timings.commits.commit)),
  ]),
  durations('log_sync', 'Syncs of the event log to the disk (fdatasync).', ({ timings }) => [
    unlabelled(new Histogram(timings.commits.sync)),
  ]),
  durations(
    'http_request',
    'Requests until the head of their answer, by route and status.',
    ({ timings }) => timings.requests.list(),
  ),
  durations('flag_evaluation', 'Evaluations of the flags of one caller.', ({ timings }) => [
    unlabelled(timings.flags),
  ]),
  durations('question', 'Queries that were computed, by lane and outcome.', ({ timings }) =>
    timings.queries.list(),
  ),
  durations(
    'question_wait',
    'For how long queries waited until they were begun, by lane.',
    ({ timings }) => timings.query_waits.list(),
  ),
  gauge('questions_running', 'Queries in the engine.', ({ engine }) => engine.state.running),
  gauge('questions_waiting', 'Queries that wait for it.', ({ engine }) => engine.state.waiting),
  counter(
    'query_processes_started_total',
    'Query processes started: the first, those in place of one that ended, and spare ones.',
    ({ engine }) => engine.state.processes_started,
  ),
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
  counter(
    'query_opening_failures_total',
    'Projects that a query process could not open; a fresh process was started for each.',
    ({ engine }) => engine.state.opening_failures,
  ),
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
  gauge('query_engine_ready', '1 while queries can be answered, else 0.', ({ engine }) =>
    engine.state.unready === null ? 1 : 0,
  ),
  gauge(
    'disk_bytes',
    'Size of the disk that holds the data folder.',
    ({ disk }) => disk.read().bytes,
  ),
  gauge(
    'disk_free_bytes',
    'Bytes of it that the server may still use.',
    ({ disk }) => disk.read().free_bytes,
  ),
  gauge('ready', '1 while GET /_readyz answers 200, else 0.', (app) =>
    findUnready(app).length === 0 ? 1 : 0,
  ),
  ...CERTIFICATE_METRICS,
  {
    name: 'tidemark_backups_total',
    type: 'counter',
    help: 'Backups that the server made by itself since its start, by outcome.',
    read: ({ backups }) =>
      backups === null
        ? []
        : (['done', 'failed'] as const).map((outcome) => ({
            labels: { outcome },
            value: backups.state[outcome],
          })),
  },
  {
    name: 'tidemark_backup_age_seconds',
    type: 'gauge',
    help: 'Age of the newest whole backup.',
    read: ({ backups, now }) => secondsSince(backups?.state.made_at ?? null, now()),
  },
  {
    name: 'tidemark_backup_overdue_seconds',
    type: 'gauge',
    help: 'For how long a backup has been due; 0 while none is.',
    read: ({ backups, now }) => secondsSince(backups?.state.due_at ?? null, now()),
  },
  {
    name: 'tidemark_edge_seen_seconds',
    type: 'gauge',
    help: 'Time since each edge reported last.',
    read: (app) =>
      listEdges(app).map(({ id, name, seen_at }) => ({
        labels: { edge: id, name },
        value: app.now().getTime() / 1000 - seen_at / 1_000_000,
      })),
  },
  {
    name: 'tidemark_edge_lag_seconds',
    type: 'gauge',
    help: 'Age of the oldest event that each edge had not forwarded when it reported.',
    read: (app) =>
      listEdges(app).map(({ id, name, lag_s }) => ({ labels: { edge: id, name }, value: lag_s })),
  },
  {
    name: 'tidemark_edge_backlog_events',
    type: 'gauge',
    help: 'Events that each edge had not forwarded when it reported.',
    read: (app) =>
      listEdges(app).map(({ id, name, backlog_events: value }) => ({
        labels: { edge: id, name },
        value,
      })),
  },
  {
    name: 'tidemark_spans_total',
    type: 'counter',
    help: 'Spans for the collector of traces since the start, by outcome.',
    read: ({ timings: { traces } }) =>
      Object.entries(traces?.counts ?? {}).map(([outcome, value]) => ({
        labels: { outcome },
        value,
      })),
  },
  {
    name: 'tidemark_standby_seen_seconds',
    type: 'gauge',
    help: 'Time since each standby asked for what was committed.',
    read: ({ log_shipping }) =>
      (log_shipping?.list() ?? []).map(({ id, seen_s }) => ({
        labels: { standby: id },
        value: seen_s,
      })),
  },
  {
    name: 'tidemark_standby_behind_bytes',
    type: 'gauge',
    help: 'Bytes of the event log that each standby had not received when it asked.',
    read: ({ log_shipping }) =>
      (log_shipping?.list() ?? []).map(({ id, behind_bytes }) => ({
        labels: { standby: id },
        value: behind_bytes,
      })),
  },
  gauge('resident_bytes', 'Memory of the serving process.', () => process.memoryUsage.rss()),
  {
    name: 'tidemark_event_loop_lag_seconds',
    type: 'histogram',
    help: 'How late timers of a thread run, since something else holds its event loop.',
    read: ({ event_loops }) =>
      Object.entries(event_loops).flatMap(([thread, memory]) =>
        histogramSamples({ thread }, readLag(memory), LAG_BUCKETS_S),
      ),
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

/** No sample while there is no such time; 0 for one to come. */
function secondsSince(time: Date | null, now: Date): readonly MetricSample[] {
  if (time === null) return []
  return [{ labels: {}, value: Math.max(0, (now.getTime() - time.getTime()) / 1000) }]
}

/** A counter per project. */
function eventCounter(counted: string, help: string): MetricDefinition<AppContext> {
  return {
    name:
      counted === 'merged' ? 'tidemark_persons_merged_total' : `tidemark_events_${counted}_total`,
    type: 'counter',
    help,
    read: ({ ingest }) =>
      ingest
        .listCounters()
        .filter(({ name }) => name === counted)
        .map((row) => sampleOf(row)),
  }
}

function sampleOf(row: CounterRow, labels: MetricSample['labels'] = {}): MetricSample {
  return { labels: { project_id: String(row.project_id), ...labels }, value: row.value }
}

/** The samples of a histogram without labels. */
function unlabelled(histogram: Histogram) {
  return { labels: {}, values: histogram.read() }
}

/** A histogram of durations for each combination of labels. */
export function durations<Source>(
  name: string,
  help: string,
  read: (source: Source) => readonly {
    readonly labels: MetricSample['labels']
    readonly values: HistogramValues
  }[],
): MetricDefinition<Source> {
  return {
    name: `tidemark_${name}_seconds`,
    type: 'histogram',
    help,
    read: (source) =>
      read(source).flatMap(({ labels, values }) => histogramSamples(labels, values)),
  }
}

/** The samples of a histogram. Each bucket is cumulative: it counts all values up to its bound. */
function histogramSamples(
  labels: MetricSample['labels'],
  { counts, sum_s }: HistogramValues,
  bounds_s = DURATION_BUCKETS_S,
): readonly MetricSample[] {
  let total = 0
  const buckets = counts.map((count, index): MetricSample => {
    total += count
    const le = String(bounds_s[index] ?? '+Inf')
    return { suffix: '_bucket', labels: { ...labels, le }, value: total }
  })
  return [
    ...buckets,
    { suffix: '_sum', labels, value: sum_s },
    { suffix: '_count', labels, value: total },
  ]
}

/** Prints metrics as a page. */
export function printPage<Source>(
  metrics: readonly MetricDefinition<Source>[],
  source: Source,
): string {
  return metrics.map((metric) => printMetric(metric, source)).join('')
}

function printMetric<Source>(
  { name, type, help, read }: MetricDefinition<Source>,
  source: Source,
): string {
  const lines = read(source).map(
    ({ suffix = '', labels, value }) => `${name}${suffix}${printLabels(labels)} ${value}`,
  )
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

/** Prints labels. The name of an edge comes from outside. */
function printLabels(labels: MetricSample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
