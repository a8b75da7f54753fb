/** How much is measured: a round that takes an hour, or one of seconds that only shows that every bench still runs. */

/** Counts of one round. */
type Sizes = {
  /** Repetitions, of which the median or the best counts. */
  readonly rounds: number
  /** Load on one endpoint. */
  readonly seconds: number
  /** Starts of a server for tests. */
  readonly starts: number
  /** Kills of a primary. */
  readonly kills: number
  /** Rows of the bare insert loop. */
  readonly inserts: number
  /** Events of one import. */
  readonly imported_events: number
  /** Queries one after the other. */
  readonly queries: number
  readonly query_events: number
  readonly query_persons: number
  readonly insight_events: number
  /** People who are asked about: few, many, and so many that each is asked about once. */
  readonly askers: readonly [few: number, many: number, once: number]
  /** Persons of the demo product whose charts are drawn, and how often each. */
  readonly chart_persons: number
  readonly chart_rounds: number
  readonly scrolled_frames: number
}

/** Set to anything, it makes all rounds small; their figures mean nothing. */
export const IS_SMALL = (process.env['BENCH_SMALL'] ?? '') !== ''

const USUAL: Sizes = {
  rounds: 3,
  seconds: Number(process.env['BENCH_SECONDS'] ?? 4),
  starts: 20,
  kills: Number(process.env['BENCH_KILLS'] ?? 20),
  inserts: 150_000,
  imported_events: 300_000,
  queries: 100,
  query_events: Number(process.env['BENCH_EVENTS'] ?? 1_000_000),
  query_persons: 100_000,
  insight_events: Number(process.env['BENCH_INSIGHT_EVENTS'] ?? 10_000_000),
  askers: [5000, 40_000, 50_000],
  chart_persons: 300,
  chart_rounds: 5,
  scrolled_frames: 600,
}

const SMALL: Sizes = {
  rounds: 1,
  seconds: 0.05,
  starts: 1,
  kills: 1,
  inserts: 1000,
  imported_events: 1500,
  queries: 2,
  query_events: 1000,
  query_persons: 1000,
  insight_events: 2400,
  askers: [50, 100, 100],
  chart_persons: 5,
  chart_rounds: 1,
  scrolled_frames: 20,
}

export const SIZES: Sizes = IS_SMALL ? SMALL : USUAL
