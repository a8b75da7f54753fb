/** The shape of a dialect: how a resolved query becomes a statement of one engine. */

import type { Pass } from './passes/walk.ts'
import type { QueryReads } from './query-reads.ts'
import type { Statement } from './sql/ir.ts'
import type { PrintedQuery } from './sql/print.ts'

/** An engine that answers: the rewrites for it, in order, and its printer. */
export type Dialect = {
  readonly passes: readonly Pass[]
  readonly print: (statement: Statement, reads: QueryReads) => PrintedQuery
  /** For an engine that lacks functions which the engine of one machine computes. */
  readonly federation?: Federation
}

/** Federated execution: the dialect's engine gathers rows into files, from which the engine of one machine computes the answer. */
type Federation = {
  /** Null for a statement that the dialect's engine answers alone. */
  readonly splitAtFolds: (statement: Statement) => SplitStatement | null
  /** Reads the whole answer of a statement from the file 0; null where its types have no form in a file. */
  readonly readAnswer: (statement: Statement) => Statement | null
  /** The dialect of the statements that gather rows: nothing in it has a limit for answers. */
  readonly gather_dialect: Pick<Dialect, 'passes' | 'print'>
}

/** The parts of a statement that two engines compute. */
export type SplitStatement = {
  /** Statements for the dialect's engine; the rows of the n-th are the file n. */
  readonly gather_statements: readonly Statement[]
  /** Everything above them, for the engine of one machine: it reads the files. */
  readonly local_statement: Statement
}
