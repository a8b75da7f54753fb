/** Alert rules for Prometheus over the figures of GET /_metrics. */

type PrometheusRule = {
  readonly alert: string
  /** PromQL; the alert fires when it has been true for `lasts`. */
  readonly expr: string
  readonly lasts: string
  readonly severity: 'critical' | 'warning'
  /** The text of the alert: the problem, and what to do. */
  readonly summary: string
}

/** In an expression, `$job` is replaced by the matcher of the scrape job. */
const RULES: readonly PrometheusRule[] = [
  {
    alert: 'TidemarkDown',
    expr: 'up{$job} == 0',
    lasts: '1m',
    severity: 'critical',
    summary:
      'Tidemark does not answer. Look at its log; run "tidemark doctor" on the data folder when it does not start.',
  },
  {
    alert: 'TidemarkNotReady',
    expr: 'tidemark_ready{$job} == 0',
    lasts: '2m',
    severity: 'critical',
    summary: 'Tidemark is not ready. GET /_readyz names the reasons.',
  },
  {
    alert: 'TidemarkDiskNearlyFull',
    expr: 'tidemark_disk_free_bytes{$job} < 0.1 * tidemark_disk_bytes{$job}',
    lasts: '10m',
    severity: 'warning',
    summary:
      'Less than a tenth of the disk is free. When it is full, events are refused with 503: enlarge it, or set a retention.',
  },
  {
    alert: 'TidemarkDiskFullSoon',
    expr: 'predict_linear(tidemark_disk_free_bytes{$job}[6h], 24 * 3600) < 0',
    lasts: '1h',
    severity: 'warning',
    summary: 'At the rate of the last six hours the disk is full within a day.',
  },
  {
    alert: 'TidemarkServerErrors',
    expr: 'sum by (route) (rate(tidemark_http_request_seconds_count{$job,status=~"5.."}[5m])) > 0.05',
    lasts: '5m',
    severity: 'critical',
    summary:
      '{{ $labels.route }} answers with server errors. The log has an error_id for each 500; a 503 names what is not available.',
  },
  {
    alert: 'TidemarkCaptureSlow',
    expr: 'histogram_quantile(0.99, sum by (le) (rate(tidemark_commit_queue_seconds_bucket{$job}[5m]))) > 1',
    lasts: '10m',
    severity: 'warning',
    summary:
      'Events wait for more than a second until they are stored: more come in than the disk or one core can take.',
  },
  {
    alert: 'TidemarkCertificateEnds',
    expr: 'tidemark_certificate_remaining_seconds{$job} < 10 * 86400 and tidemark_certificate_remaining_seconds{$job} < 0.2 * tidemark_certificate_lifetime_seconds{$job}',
    lasts: '10m',
    severity: 'critical',
    summary:
      'The certificate of https ends in {{ $value | humanizeDuration }}, and clients refuse it then. "tidemark doctor" and the log say why there is no new one.',
  },
  {
    alert: 'TidemarkSlowSync',
    expr: 'histogram_quantile(0.99, sum by (le) (rate(tidemark_log_sync_seconds_bucket{$job}[5m]))) > 0.25',
    lasts: '10m',
    severity: 'warning',
    summary: 'The disk takes more than 250 ms to sync: capture is as slow as that.',
  },
  {
    alert: 'TidemarkSnapshotsFail',
    expr: 'increase(tidemark_snapshot_work_total{$job,outcome="failed"}[30m]) > 1',
    lasts: '1m',
    severity: 'warning',
    summary:
      'Work on snapshot files ({{ $labels.work }}) fails. Nothing is lost, but the log grows; the log says why.',
  },
  {
    alert: 'TidemarkStandbyBehind',
    expr: 'tidemark_standby_behind_seconds{$job} > 60 or tidemark_standby_behind_seconds{$job} < 0',
    lasts: '5m',
    severity: 'warning',
    summary:
      'A standby has not been equal to its primary for a minute: that much would be lost. GET /_health of the standby says why.',
  },
  {
    alert: 'TidemarkStandbyAway',
    expr: 'tidemark_standby_seen_seconds{$job} > 60',
    lasts: '5m',
    severity: 'warning',
    summary: 'A standby has not asked for a minute. Look at its log and its key.',
  },
  {
    alert: 'TidemarkBackupOverdue',
    expr: 'tidemark_backup_overdue_seconds{$job} > 3600',
    lasts: '5m',
    severity: 'critical',
    summary:
      'A backup has been due for more than an hour. The log says why the last one failed; "tidemark backup list" shows what there is.',
  },
  {
    alert: 'TidemarkBackupsFail',
    expr: 'increase(tidemark_backups_total{$job,outcome="failed"}[1h]) > 0',
    lasts: '1m',
    severity: 'warning',
    summary: 'A backup failed, and is tried again after ten minutes. The log says why.',
  },
  {
    alert: 'TidemarkLogGrows',
    expr: 'tidemark_log_events{$job} > 5e6',
    lasts: '30m',
    severity: 'warning',
    summary:
      'Five million events are not in snapshot files yet: queries become slow, and the disk fills faster.',
  },
  {
    alert: 'TidemarkQueryProcessDies',
    expr: 'sum(increase(tidemark_query_processes_ended_total{$job}[15m])) > 5',
    lasts: '1m',
    severity: 'warning',
    summary:
      'The query process was replaced more than five times in a quarter of an hour. The log names the queries.',
  },
  {
    alert: 'TidemarkQuestionsWait',
    expr: 'histogram_quantile(0.95, sum by (le) (rate(tidemark_question_wait_seconds_bucket{$job,lane="interactive"}[10m]))) > 5',
    lasts: '10m',
    severity: 'warning',
    summary:
      'Queries wait for more than five seconds for their turn. "tidemark top" shows which ones run.',
  },
  {
    alert: 'TidemarkEdgeBehind',
    expr: 'tidemark_edge_lag_seconds{$job} > 300',
    lasts: '5m',
    severity: 'warning',
    summary:
      'An edge has events that its home has not confirmed for five minutes. Its log has the reason; nothing is lost until its disk limit is reached.',
  },
  {
    alert: 'TidemarkEdgeDefinitionsOld',
    expr: 'tidemark_edge_definitions_age_seconds{$job} > 3600',
    lasts: '5m',
    severity: 'warning',
    summary: 'An edge answers flags from definitions that are more than an hour old.',
  },
  {
    alert: 'TidemarkThreadHeld',
    expr: 'histogram_quantile(0.999, sum by (le, thread) (rate(tidemark_event_loop_lag_seconds_bucket{$job}[10m]))) > 0.25',
    lasts: '10m',
    severity: 'warning',
    summary:
      'The {{ $labels.thread }} thread is held for more than 250 ms at a time. The log names the requests that do it.',
  },
]

/** Prints the rules as a file for `rule_files` in prometheus.yml; `job` is the name of the scrape job. */
export function printAlertRules(job: string): string {
  const rules = RULES.flatMap(({ alert, expr, lasts, severity, summary }) => [
    `      - alert: ${alert}`,
    `        expr: ${JSON.stringify(expr.replaceAll('$job', `job=${JSON.stringify(job)}`))}`,
    `        for: ${lasts}`,
    '        labels:',
    `          severity: ${severity}`,
    '        annotations:',
    `          summary: ${JSON.stringify(summary)}`,
  ])
  return ['groups:', '  - name: tidemark', '    rules:', ...rules, ''].join('\n')
}
