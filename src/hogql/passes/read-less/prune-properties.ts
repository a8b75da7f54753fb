/**
 * Pass pruneProperties (projection pruning): the relation without `properties` is scanned where no
 * expression reads them, because they are assembled from columns row by row.
 *
 *   SELECT event FROM events
 *   → SELECT event FROM events_lean
 */

import type { Relation, Scan, Statement } from '../../sql/ir.ts'
import { keepExpr, mapSelect, mapStatement, type Pass } from '../walk.ts'

/**
 * Chooses the relation of each scan of events. A local time that a scan computes counts as a read
 * of its column.
 */
export const pruneProperties: Pass = (statement) => {
  const reading = scansReadingProperties(statement)
  return mapStatement(statement, {
    select: (select) => mapSelect(select, keepExpr, (relation) => pruneRelation(relation, reading)),
  })
}

/** The relations whose column `properties` is read anywhere. */
function scansReadingProperties(statement: Statement): ReadonlySet<number> {
  const reading = new Set<number>()
  mapStatement(statement, {
    expr: (expr) => {
      if (expr.kind === 'column' && expr.name === 'properties') reading.add(expr.relation)
      return expr
    },
  })
  return reading
}

function pruneRelation(relation: Relation, reading: ReadonlySet<number>): Relation {
  if (relation.kind === 'scan') return pruneScan(relation, reading)
  if (relation.kind !== 'join') return relation
  return {
    ...relation,
    left: pruneRelation(relation.left, reading),
    right: pruneRelation(relation.right, reading),
  }
}

function pruneScan(scan: Scan, reading: ReadonlySet<number>): Scan {
  return scan.table === 'events' && !reading.has(scan.id) ? { ...scan, table: 'events_lean' } : scan
}
