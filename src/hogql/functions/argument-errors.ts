/** Refusals of arguments that a function cannot accept. */

import { Refusal } from '../../errors.ts'
import type { SourceSpan } from '../syntax/ast.ts'

/** Refuses (`invalid_input`) a call's arguments; `withPlace` adds the source span. */
export function refuseArguments(detail: string): never {
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}

/** Runs work for a call; refusals without a source span get the call's. */
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
