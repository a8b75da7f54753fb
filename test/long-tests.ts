/** Tests that only `bun run check:long` runs: those of variations, and those whose subject another test touches too. */
import { setDefaultTimeout, test } from 'bun:test'

/** Whether all combinations are walked, as `bun run check:long` does, or just enough that each member is in one. */
export const EVERY_CASE = process.env['EVERY_CASE'] === '1'

/** A test of a variation of what another one covers. */
export const longTest = test.skipIf(!EVERY_CASE)

/** A `longTest` that needs something of the machine: Bun refuses `skipIf` of a test that is skipped. */
export const longTestIf = (is_possible: boolean) => test.skipIf(!EVERY_CASE || !is_possible)

/** An hour, as `bun run check:long` gives on its command line: a limit that a file sets would replace it. */
const LONG_MS = 3_600_000

/** The limit of a test whose cases are many times more in `bun run check:long`, ms. */
export const limitOf = (ms: number): number => (EVERY_CASE ? LONG_MS : ms)

/** Limits each test of a file as `limitOf` says. */
export function limitTests(ms: number): void {
  setDefaultTimeout(limitOf(ms))
}
