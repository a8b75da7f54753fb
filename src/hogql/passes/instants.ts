/** Pass: local times become instants, after groups were formed by the local time itself, once per group and not per row. */

import type { Expr } from '../ir.ts'
import type { Select } from '../ir-queries.ts'
import { spellInstant } from '../local-time.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Spells every instant that is given by a local time. */
export const instants: Pass = (statement, context) => {
  const grouped = mapStatement(statement, { select: groupByLocal })
  return mapStatement(grouped, {
    expr: (expr) => (expr.kind === 'instant' ? spellInstant(expr, context) : expr),
  })
}

function groupByLocal(select: Select): Select {
  const { group_by } = select
  if (group_by === null) return select
  const sets = group_by.sets.map((keys) =>
    keys.map((key): Expr => (key.kind === 'instant' ? key.local : key)),
  )
  return { ...select, group_by: { ...group_by, sets } }
}
