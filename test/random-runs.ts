/** How many random cases a law is tried with. */

/** What `fc.assert` and `fc.check` take. */
export type RandomRuns = { readonly numRuns: number; readonly seed?: number }

/** Any number: the cases of `bun run check` are the same in each run, so that it does not fail by chance. */
const SEED = 16
/** Cases of `bun run check:long` for each of `bun run check`. */
const TIMES = 60

/** `count` cases, always the same ones; with `EVERY_CASE=1` sixty times as many, other ones in each run. */
export function randomRuns(count: number): RandomRuns {
  return process.env['EVERY_CASE'] === '1'
    ? { numRuns: count * TIMES }
    : { numRuns: count, seed: SEED }
}

/** The size of a test that is not random: `few` in `bun run check`, `many` with `EVERY_CASE=1`. */
export function fewOrMany(few: number, many: number): number {
  return process.env['EVERY_CASE'] === '1' ? many : few
}

/** Of the rows of a matrix by the number of their pair: one in `step`; with `EVERY_CASE=1` all. */
export function isTried(pair: number, step: number): boolean {
  return pair % fewOrMany(step, 1) === 0
}
