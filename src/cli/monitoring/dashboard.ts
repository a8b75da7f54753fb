/** A Grafana dashboard over the figures of GET /_metrics. */

type Panel = {
  readonly title: string
  readonly description?: string
  /** A unit of Grafana's. */
  readonly unit: 'Bps' | 'bytes' | 'cps' | 'percentunit' | 'reqps' | 's' | 'short'
  /** PromQL by the text of its legend. */
  readonly lines: Readonly<Record<string, string>>
  readonly kind?: 'stat' | 'timeseries'
}

const J = 'job="$job"'

/** The given quantile of a histogram over the dashboard's interval. */
function quantile(share: number, histogram: string, by: readonly string[] = [], more = ''): string {
  const buckets = `rate(tidemark_${histogram}_seconds_bucket{${J}${more}}[$__rate_interval])`
  return `histogram_quantile(${share}, sum by (${['le', ...by].join(', ')}) (${buckets}))`
}

function rate(counter: string, by: readonly string[] = []): string {
  const perSecond = `rate(${counter}[$__rate_interval])`
  return by.length === 0 ? `sum(${perSecond})` : `sum by (${by.join(', ')}) (${perSecond})`
}

/** The panels by row, the most important first. */
const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Overview: [
    {
      title: 'Ready',
      kind: 'stat',
      unit: 'short',
      lines: { ready: `min(tidemark_ready{${J}})` },
    },
    {
      title: 'Events a second',
      kind: 'stat',
      unit: 'cps',
      lines: { stored: rate(`tidemark_events_accepted_total{${J}}`) },
    },
    {
      title: 'Disk used',
      kind: 'stat',
      unit: 'percentunit',
      lines: { used: `1 - tidemark_disk_free_bytes{${J}} / tidemark_disk_bytes{${J}}` },
    },
    {
      title: 'Server errors',
      kind: 'stat',
      unit: 'reqps',
      lines: { errors: rate(`tidemark_http_request_seconds_count{${J},status=~"5.."}`) },
    },
    {
      title: 'Certificate',
      description: 'Time until the first certificate of https ends.',
      kind: 'stat',
      unit: 's',
      lines: { remaining: `min(tidemark_certificate_remaining_seconds{${J}})` },
    },
  ],
  Requests: [
    {
      title: 'Requests by status',
      unit: 'reqps',
      lines: { '{{status}}': rate(`tidemark_http_request_seconds_count{${J}}`, ['status']) },
    },
    {
      title: 'Busiest routes',
      unit: 'reqps',
      lines: {
        '{{route}}': `topk(10, ${rate(`tidemark_http_request_seconds_count{${J}}`, ['route'])})`,
      },
    },
    {
      title: 'Slowest routes, p99',
      unit: 's',
      lines: { '{{route}}': `topk(10, ${quantile(0.99, 'http_request', ['route'])})` },
    },
    {
      title: 'Flags, evaluation of one caller',
      unit: 's',
      lines: {
        p50: quantile(0.5, 'flag_evaluation'),
        p99: quantile(0.99, 'flag_evaluation'),
      },
    },
  ],
  Events: [
    {
      title: 'Events by project',
      unit: 'cps',
      lines: {
        'project {{project_id}}': rate(`tidemark_events_accepted_total{${J}}`, ['project_id']),
      },
    },
    {
      title: 'Not stored: repeated and dropped',
      unit: 'cps',
      lines: {
        repeated: rate(`tidemark_events_duplicate_total{${J}}`),
        '{{reason}}': rate(`tidemark_events_dropped_total{${J}}`, ['reason']),
      },
    },
    {
      title: 'From receipt to disk, p99',
      description: 'A capture is answered after all three.',
      unit: 's',
      lines: {
        'waits for its transaction': quantile(0.99, 'commit_queue'),
        transaction: quantile(0.99, 'commit'),
        sync: quantile(0.99, 'log_sync'),
      },
    },
    {
      title: 'Events in the log',
      description: 'Stored, and not yet in snapshot files alone.',
      unit: 'short',
      lines: { events: `tidemark_log_events{${J}}` },
    },
  ],
  Queries: [
    {
      title: 'Computed queries by outcome',
      unit: 'reqps',
      lines: { '{{outcome}}': rate(`tidemark_question_seconds_count{${J}}`, ['outcome']) },
    },
    {
      title: 'Time of a query',
      unit: 's',
      lines: {
        '{{lane}} p50': quantile(0.5, 'question', ['lane']),
        '{{lane}} p95': quantile(0.95, 'question', ['lane']),
      },
    },
    {
      title: 'Waiting for a turn, p95',
      unit: 's',
      lines: { '{{lane}}': quantile(0.95, 'question_wait', ['lane']) },
    },
    {
      title: 'In the engine',
      unit: 'short',
      lines: {
        running: `tidemark_questions_running{${J}}`,
        waiting: `tidemark_questions_waiting{${J}}`,
      },
    },
    {
      title: 'Query processes that ended',
      unit: 'short',
      lines: {
        '{{reason}}': `sum by (reason) (increase(tidemark_query_processes_ended_total{${J}}[$__rate_interval]))`,
      },
    },
  ],
  Files: [
    {
      title: 'Work on snapshot files, p95',
      unit: 's',
      lines: { '{{work}}': quantile(0.95, 'snapshot_work', ['work']) },
    },
    {
      title: 'Work that failed',
      unit: 'short',
      lines: {
        '{{work}}': `sum by (work) (increase(tidemark_snapshot_work_total{${J},outcome="failed"}[$__rate_interval]))`,
      },
    },
    {
      title: 'Snapshot files',
      unit: 'bytes',
      lines: { bytes: `tidemark_snapshot_bytes{${J}}` },
    },
    {
      title: 'Newest backup',
      description: 'Only of a server that makes backups by itself.',
      unit: 's',
      lines: {
        age: `tidemark_backup_age_seconds{${J}}`,
        overdue: `tidemark_backup_overdue_seconds{${J}}`,
      },
    },
  ],
  Edges: [
    {
      title: 'Lag behind the home',
      unit: 's',
      lines: { '{{instance}} {{name}}': `tidemark_edge_lag_seconds{${J}}` },
    },
    {
      title: 'Waiting to be forwarded',
      unit: 'short',
      lines: { '{{instance}} {{name}}': `tidemark_edge_backlog_events{${J}}` },
    },
    {
      title: 'Forwarded events and failures',
      unit: 'cps',
      lines: {
        events: rate(`tidemark_edge_forwarded_events_total{${J}}`),
        failures: rate(`tidemark_edge_forwarding_failures_total{${J}}`),
      },
    },
    {
      title: 'Time until the home confirms a batch',
      unit: 's',
      lines: { p50: quantile(0.5, 'edge_forward'), p99: quantile(0.99, 'edge_forward') },
    },
  ],
  Process: [
    {
      title: 'Memory of the serving process',
      unit: 'bytes',
      lines: { resident: `tidemark_resident_bytes{${J}}` },
    },
    {
      title: 'How late timers run, p99',
      description: 'How long something else holds a thread.',
      unit: 's',
      lines: { '{{thread}}': quantile(0.99, 'event_loop_lag', ['thread']) },
    },
    {
      title: 'Room on the disk',
      unit: 'bytes',
      lines: { free: `tidemark_disk_free_bytes{${J}}` },
    },
  ],
}

/** Grafana's grid has 24 columns. */
const COLUMNS = 24
const STAT = { w: 6, h: 4 } as const
const CHART = { w: 12, h: 8 } as const

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const

/** Prints the dashboard as JSON that Grafana imports; it asks for the data source and offers every scrape job. */
export function printDashboard(): string {
  const dashboard = {
    title: 'Tidemark',
    uid: 'tidemark',
    tags: ['tidemark'],
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        {
          name: 'job',
          label: 'Job',
          type: 'query',
          datasource: DATASOURCE,
          query: { query: 'label_values(tidemark_ready, job)', refId: 'jobs' },
          refresh: 2,
        },
      ],
    },
    panels: placePanels(),
  }
  return `${JSON.stringify(dashboard, null, 2)}\n`
}

/** Places the panels of each row from left to right. */
function placePanels(): readonly object[] {
  const placed: object[] = []
  let y = 0
  for (const [row, panels] of Object.entries(ROWS)) {
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title: row,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    })
    y += 1
    let x = 0
    let height = 0
    for (const panel of panels) {
      const { w, h } = panel.kind === 'stat' ? STAT : CHART
      if (x + w > COLUMNS) {
        x = 0
        y += height
      }
      placed.push(describePanel(panel, placed.length + 1, { x, y, w, h }))
      x += w
      height = h
    }
    y += height
  }
  return placed
}

function describePanel(
  { title, description = '', unit, lines, kind = 'timeseries' }: Panel,
  id: number,
  gridPos: object,
): object {
  return {
    id,
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(lines).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat,
    })),
  }
}
