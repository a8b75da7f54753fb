/** Refusing a call whose arguments a function cannot work with. */

import { Refusal } from '../../errors.ts'
import type { SourceSpan } from '../ast.ts'

/** Refuses (`invalid_input`) the way a function is used. Where it stands, `withPlace` adds. */
export function refuseArguments(detail: string): never {
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}

/** Does work for a call that is written at a place: refusals that do not say where are given it. */
export function withPlace<Result>(at: SourceSpan | undefined, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refusal) || error.span !== null || at === undefined) throw error
    if (at.end <= at.start) throw error
    const { code, detail, attr } = error
    throw new Refusal(code, detail, { ...(attr === null ? {} : { attr }), span: at })
  }
}
