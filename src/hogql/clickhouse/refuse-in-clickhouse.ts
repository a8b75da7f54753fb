/** The refusal of queries that ClickHouse cannot answer, but DuckDB can. */

import { Refusal } from '../../errors.ts'

/** Throws a Refusal (`invalid_input`, attr `query`). `what` begins its sentence. */
export function refuseInClickHouse(what: string): never {
  const detail = `${what} is not available where ClickHouse answers`
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}
