/** Refusing a call whose arguments a function cannot work with. */

import { Refusal } from '../../errors.ts'

/** Refuses (`invalid_input`) the way a function is used; where it stands is not known any more. */
export function refuseUse(detail: string): never {
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}
