/** Tests that only `bun run check:long` runs: those of variations, and those whose subject another test touches too. */
import { test } from 'bun:test'

/** Whether all combinations are walked, as `bun run check:long` does, or just enough that each member is in one. */
export const EVERY_CASE = process.env['EVERY_CASE'] === '1'

/** A test of a variation of what another one covers. */
export const longTest = test.skipIf(!EVERY_CASE)

/** A `longTest` that needs something of the machine: Bun refuses `skipIf` of a test that is skipped. */
export const longTestIf = (is_possible: boolean) => test.skipIf(!EVERY_CASE || !is_possible)
