/** The refusal of what only the one-machine engine answers. */

import { Refusal } from '../../errors.ts'

/** Throws a Refusal (`invalid_input`, attr `query`). `what` begins its sentence. */
export function refuseThere(what: string): never {
  const detail = `${what} is not available where ClickHouse answers`
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}
