/** Every attack there is. A new way to make work for the server is a line in one of these lists. */
import type { Attack } from './attack.ts'
import { HOGQL_ATTACKS, KIND_ATTACKS } from './hogql-attacks.ts'
import { PUBLIC_ATTACKS } from './public-attacks.ts'
import { ROUTE_ATTACKS } from './route-attacks.ts'

export const ATTACKS: readonly Attack[] = [
  ...HOGQL_ATTACKS,
  ...KIND_ATTACKS,
  ...PUBLIC_ATTACKS,
  ...ROUTE_ATTACKS,
]
