/** SCALARS: every HogQL function that the engine lacks and TypeScript computes. */

import { BYTES } from './bytes.ts'
import { CITY_HASH } from './city-hash.ts'
import { DECIMALS } from './decimals.ts'
import type { ScalarFunction } from './definition.ts'
import { GEOHASHES } from './geohashes.ts'
import { CASE_SCALARS } from './letter-case.ts'
import { SEQUENCES } from './sequences.ts'
import { WINDOW_FUNNEL } from './window-funnel.ts'

/**
 * The functions registered with DuckDB. Adding one means a line in a file of scalars/ and a line in
 * the registry that prints its name.
 */
export const HOGQL_SCALARS: readonly ScalarFunction[] = [
  ...CITY_HASH,
  ...BYTES,
  ...GEOHASHES,
  ...DECIMALS,
  ...CASE_SCALARS,
  ...WINDOW_FUNNEL,
  ...SEQUENCES,
]
