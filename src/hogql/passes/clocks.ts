/** Pass: instants and the clocks of their zones are spelled, a scan's clock once per row, a group's instant once per group. */

import type { CompileContext } from '../context.ts'
import { refuseUse } from '../functions/refuse-use.ts'
import type { ClockOf, Column, Expr } from '../ir.ts'
import type { KnownRange, Relation, Select } from '../ir-queries.ts'
import { spellClock, spellInstant } from '../local-time.ts'
import { mapExpr, mapRelation, mapSelect, mapStatement, type Pass } from './walk.ts'

/** Each of them is some forty parts of SQL in a zone whose clocks change. */
const SPELLED_MAX = 1_000

/** Spells everything that depends on a time zone. */
export const clocks: Pass = (statement, context) => {
  let spelled = 0
  const count = (): void => {
    spelled += 1
    if (spelled > SPELLED_MAX)
      refuseUse(`A question looks at the clocks of zones at most ${SPELLED_MAX} times`)
  }
  const grouped = mapStatement(statement, { select: groupByLocal })
  const scanned = mapStatement(grouped, { select: (select) => clocksOfScans(select, context) })
  return mapStatement(scanned, {
    expr: (expr) => {
      if (expr.kind !== 'clock' && expr.kind !== 'instant') return expr
      count()
      return expr.kind === 'clock' ? spellClock(expr, context) : spellInstant(expr, context)
    },
  })
}

/** What is grouped by is the local time; the instant it means is computed after. */
function groupByLocal(select: Select): Select {
  const { group_by } = select
  if (group_by === null) return select
  const sets = group_by.sets.map((keys) =>
    keys.map((key): Expr => (key.kind === 'instant' ? key.local : key)),
  )
  return { ...select, group_by: { ...group_by, sets } }
}

/** Clocks found on columns of scans, by column and zone. */
type Clocks = Map<string, Found>
type Found = { readonly id: number; readonly clock: ClockOf; readonly column: Column }

/** Clocks of a scan's column become columns of the scan, however often they are looked at. */
function clocksOfScans(select: Select, context: CompileContext): Select {
  const scans = new Set<number>()
  if (select.from !== null) collectScans(select.from, scans)
  if (scans.size === 0) return select
  const found: Clocks = new Map()
  const look = (expr: Expr): Expr =>
    mapExpr(expr, { expr: (part) => columnOfClock(part, scans, found) })
  const inJoins = (relation: Relation): Relation => mapRelation(relation, look, inJoins)
  const moved = mapSelect(select, look, inJoins)
  if (found.size === 0 || moved.from === null) return moved
  const spelled = [...found.values()].map(({ id, clock, column }) => ({
    id,
    relation: column.relation,
    expr: spellClock(clock, context, rangeOf(column, select.known)),
  }))
  return { ...moved, from: withClocks(moved.from, spelled) }
}

function collectScans(relation: Relation, scans: Set<number>): void {
  if (relation.kind === 'scan') scans.add(relation.id)
  if (relation.kind !== 'join') return
  collectScans(relation.left, scans)
  collectScans(relation.right, scans)
}

function columnOfClock(expr: Expr, scans: ReadonlySet<number>, found: Clocks): Expr {
  if (expr.kind !== 'clock' || expr.of.kind !== 'column' || expr.type.kind !== 'datetime')
    return expr
  const { of } = expr
  if (!scans.has(of.relation)) return expr
  const key = `${of.relation} ${of.name} ${expr.type.timezone}`
  const known = found.get(key) ?? { id: found.size + 1, clock: expr, column: of }
  found.set(key, known)
  const column: Column = {
    kind: 'column',
    relation: of.relation,
    name: `l${known.id}`,
    type: expr.type,
  }
  return column
}

function rangeOf(column: Column, known: readonly KnownRange[]): KnownRange | null {
  return (
    known.find((range) => range.relation === column.relation && range.name === column.name) ?? null
  )
}

type Spelled = { readonly id: number; readonly relation: number; readonly expr: Expr }

function withClocks(relation: Relation, spelled: readonly Spelled[]): Relation {
  if (relation.kind === 'scan') {
    const own = spelled.filter((clock) => clock.relation === relation.id)
    return { ...relation, clocks: [...relation.clocks, ...own] }
  }
  return mapRelation(
    relation,
    (expr) => expr,
    (inner) => withClocks(inner, spelled),
  )
}
