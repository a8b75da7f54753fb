/** Refusals of arguments that a function cannot accept. */

import { Refusal } from '../../errors.ts'
import type { ResolvedExpr } from '../sql/ir.ts'
import type { SourceSpan } from '../syntax/ast.ts'

/** Refuses (`invalid_input`) a call's arguments; `withPlace` adds the source span. */
export function refuseArguments(detail: string): never {
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}

/** Refuses an argument that is given, but is no constant. `what` begins the sentence. */
export function requireConstant(arg: ResolvedExpr | undefined, what: string): void {
  if (arg !== undefined && arg.kind !== 'value') refuseArguments(`${what} must be a constant`)
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
