/**
 * Collects the columns of each relation that a statement reads, before it is printed: a sub-select over a table then has these
 * columns and members alone, so that no server sends a whole `properties` to another.
 */

import { mapStatement } from '../passes/walk.ts'
import type { ColumnName, Property, ResolvedExpr, Statement } from '../sql/ir.ts'

/** The columns and JSON members that are read of one relation. */
export type ScanReads = {
  readonly columns: Set<ColumnName>
  /** Members of `properties` by their path as JSON: the name of the column that has them. */
  readonly members: Map<string, `m${number}`>
  /** Reads of `properties` that are not reads of a member. */
  whole_reads: number
}

const newReads = (): ScanReads => ({ columns: new Set(), members: new Map(), whole_reads: 0 })

/** The reads of all relations of a statement, by relation id. */
export class StatementReads {
  readonly #by_relation = new Map<number, ScanReads>()

  constructor(statement: Statement) {
    mapStatement(statement, { expr: (expr) => this.#add(expr) })
  }

  of(relation: number): ScanReads {
    return this.#by_relation.get(relation) ?? newReads()
  }

  /** The column of a member that is read of a stored `properties`; null for members of anything else. */
  memberOf(property: Property): `m${number}` | null {
    const { of, path } = property
    if (!isStoredJson(of)) return null
    return this.of(of.relation).members.get(JSON.stringify(path)) ?? null
  }

  #add(expr: ResolvedExpr): ResolvedExpr {
    if (isStoredJson(expr)) this.#readsOf(expr.relation).whole_reads += 1
    else if (expr.kind === 'column') this.#readsOf(expr.relation).columns.add(expr.name)
    if (expr.kind === 'property' && isStoredJson(expr.of)) {
      const reads = this.#readsOf(expr.of.relation)
      const { members } = reads
      // The walk has met the column itself before.
      reads.whole_reads -= 1
      const key = JSON.stringify(expr.path)
      if (!members.has(key)) members.set(key, `m${members.size + 1}`)
    }
    return expr
  }

  #readsOf(relation: number): ScanReads {
    const known = this.#by_relation.get(relation)
    if (known !== undefined) return known
    const added = newReads()
    this.#by_relation.set(relation, added)
    return added
  }
}

/** Whether an expression is the JSON column of a table. Columns of sub-selects are not. */
function isStoredJson(
  expr: ResolvedExpr,
): expr is ResolvedExpr & { kind: 'column'; name: 'properties' } {
  return expr.kind === 'column' && expr.name === 'properties' && expr.type.kind === 'json'
}
