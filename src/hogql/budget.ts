/**
 * The compile budget: how much work one statement may cost the compiler. Work is charged while it
 * is done.
 */
import { Refusal, type RefusalExtras } from '../errors.ts'

export type CompileBudget = {
  /** Expressions resolved and columns made, including those that are discarded later. */
  readonly work_max: number
  /** Nodes of the statement after expansion of stars, aliases and WITH. */
  readonly nodes_max: number
}

/** The maximum for any statement: about half a second. */
export const FULL_BUDGET: CompileBudget = { work_max: 100_000, nodes_max: 50_000 }

/** The maximum on the thread that serves all requests: about 25 ms. */
export const INLINE_BUDGET: CompileBudget = { work_max: 4_000, nodes_max: 4_000 }

/** The refusal of a statement that a larger budget might compile. */
export class BudgetExceeded extends Refusal {
  constructor(extras: RefusalExtras) {
    super('invalid_input', 'The query is too large', { attr: 'query', ...extras })
  }
}
