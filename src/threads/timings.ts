/** The durations that the server measures about itself, for GET /_metrics. */
import {
  createHistogramMemory,
  Histogram,
  HistogramFamily,
  type HistogramMemory,
} from './histogram.ts'
import type { Traces } from './traces.ts'

/** Histograms of the data thread, in memory that it shares with the main thread. */
export type CommitTimings = {
  /** From the receipt of a request's events in the data thread until their transaction begins. */
  readonly queue: HistogramMemory
  /** One transaction, without its sync. */
  readonly commit: HistogramMemory
  /** One fdatasync of the write-ahead log. */
  readonly sync: HistogramMemory
}

export type Timings = {
  readonly commits: CommitTimings
  /** Requests until the head of their answer, by route and status. */
  readonly requests: HistogramFamily<'route' | 'status'>
  /** Executions of queries, by lane and outcome. */
  readonly queries: HistogramFamily<'lane' | 'outcome'>
  /** The time for which executions waited for their turn, by lane. */
  readonly query_waits: HistogramFamily<'lane'>
  /** Evaluations of all flags of a project for one caller. */
  readonly flags: Histogram
  /** Finished steps of work on snapshot files, by kind. */
  readonly snapshots: HistogramFamily<'work'>
  /** Spans for an OpenTelemetry collector; null without one. */
  readonly traces: Traces | null
}

/** Timings without a value. */
export function createTimings(traces: Traces | null = null): Timings {
  return {
    commits: {
      queue: createHistogramMemory(),
      commit: createHistogramMemory(),
      sync: createHistogramMemory(),
    },
    requests: new HistogramFamily('route', 'status'),
    queries: new HistogramFamily('lane', 'outcome'),
    query_waits: new HistogramFamily('lane'),
    flags: new Histogram(),
    snapshots: new HistogramFamily('work'),
    traces,
  }
}

/** Seconds since a time of `performance.now()`. */
export function secondsSince(start_ms: number): number {
  return (performance.now() - start_ms) / 1000
}
