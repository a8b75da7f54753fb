/** Pass: where nobody reads the whole `properties` of events, the relation without them is scanned: putting them together is work. */

import type { Relation, ResolvedExpr, Scan, Statement } from '../ir.ts'
import { mapSelect, mapStatement, type Pass } from './walk.ts'

/** Chooses the relation of each scan of events. What a scan offers to others under its clocks counts as read by name. */
export const pruneProperties: Pass = (statement) => {
  const whole = wholeScans(statement)
  return mapStatement(statement, {
    select: (select) => mapSelect(select, asItIs, (relation) => leaner(relation, whole)),
  })
}

/** The relations whose column `properties` is named anywhere. */
function wholeScans(statement: Statement): ReadonlySet<number> {
  const found = new Set<number>()
  mapStatement(statement, {
    expr: (expr) => {
      if (expr.kind === 'column' && expr.name === 'properties') found.add(expr.relation)
      return expr
    },
  })
  return found
}

function leaner(relation: Relation, whole: ReadonlySet<number>): Relation {
  if (relation.kind === 'scan') return scanOf(relation, whole)
  if (relation.kind !== 'join') return relation
  return {
    ...relation,
    left: leaner(relation.left, whole),
    right: leaner(relation.right, whole),
  }
}

function scanOf(scan: Scan, whole: ReadonlySet<number>): Scan {
  return scan.table === 'events' && !whole.has(scan.id) ? { ...scan, table: 'events_lean' } : scan
}

const asItIs = (expr: ResolvedExpr): ResolvedExpr => expr
