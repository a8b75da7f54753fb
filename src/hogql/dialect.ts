/** The shape of a dialect: how a resolved query becomes a statement of one engine. */

import type { Pass } from './passes/walk.ts'
import type { QueryReads } from './query-reads.ts'
import type { Statement } from './sql/ir.ts'
import type { PrintedQuery } from './sql/print.ts'

/** An engine that answers: the rewrites for it, in order, and its printer. */
export type Dialect = {
  readonly passes: readonly Pass[]
  readonly print: (statement: Statement, reads: QueryReads) => PrintedQuery
  /** For an engine that cannot compute all: the part that it gathers, while the engine of one machine computes the rest. */
  readonly division?: StatementDivision
}

/** The division of a statement between two engines. */
type StatementDivision = {
  /** Null for a statement that the dialect's engine answers alone. */
  readonly cut: (statement: Statement) => DividedStatement | null
  /** Reads the whole answer of a statement from the file 0; null where its types have no form in a file. */
  readonly readAnswer: (statement: Statement) => Statement | null
  /** The dialect of the gathered part: nothing in it has a limit for answers. */
  readonly dialect: Pick<Dialect, 'passes' | 'print'>
}

/** The parts of a divided statement. */
export type DividedStatement = {
  /** Statements for the dialect's engine; the rows of the n-th are the file n. */
  readonly gathers: readonly Statement[]
  /** The rest, for the engine of one machine: it reads the files. */
  readonly rest: Statement
}
