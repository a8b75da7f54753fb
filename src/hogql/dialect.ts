/** The shape of a dialect: how a resolved query becomes a statement of one engine. */

import type { Pass } from './passes/walk.ts'
import type { QueryReads } from './query-reads.ts'
import type { Statement } from './sql/ir.ts'
import type { PrintedQuery } from './sql/print.ts'

/** An engine that answers: the rewrites for it, in order, and its printer. */
export type Dialect = {
  readonly passes: readonly Pass[]
  readonly print: (statement: Statement, reads: QueryReads) => PrintedQuery
}
