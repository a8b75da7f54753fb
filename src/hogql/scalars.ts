/** SCALARS: every HogQL function that the engine lacks and TypeScript computes. */

import { BYTES } from './scalars/bytes.ts'
import { CITY_HASH } from './scalars/city-hash.ts'
import { DECIMALS } from './scalars/decimals.ts'
import type { ScalarFunction } from './scalars/definition.ts'
import { GEOHASHES } from './scalars/geohashes.ts'
import { CASE_SCALARS } from './scalars/letters.ts'
import { SEQUENCES } from './scalars/sequences.ts'
import { WINDOW_FUNNEL } from './scalars/window-funnel.ts'

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
