/** How much work one statement may be for the compiler, charged while it is done. */
import { Refusal, type RefusalExtras } from '../errors.ts'

export type CompileBudget = {
  /** Expressions resolved and columns made, also those that are thrown away again. */
  readonly work_max: number
  /** Nodes of the statement once stars, aliases and WITH are put in. */
  readonly nodes_max: number
}

/** What any statement may take: half a second. */
export const FULL_BUDGET: CompileBudget = { work_max: 100_000, nodes_max: 50_000 }

/** What is compiled on the thread that answers everybody: some 25 ms. */
export const INLINE_BUDGET: CompileBudget = { work_max: 4_000, nodes_max: 4_000 }

/** The refusal of a statement that a larger budget might compile. */
export class BudgetExceeded extends Refusal {
  constructor(extras: RefusalExtras) {
    super('invalid_input', 'The question is too large', { attr: 'query', ...extras })
  }
}
