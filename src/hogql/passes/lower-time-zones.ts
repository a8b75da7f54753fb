/** Pass: instants and the clocks of their zones are spelled, a scan's clock once per row, a group's instant once per group. */

import type { CompileContext } from '../context.ts'
import { refuseArguments } from '../functions/argument-errors.ts'
import type {
  ClockOf,
  ColumnExpr,
  Relation,
  ResolvedExpr,
  ResolvedSelect,
  TimeBounds,
} from '../ir.ts'
import { printClock, printInstant } from '../local-time.ts'
import { mapExpr, mapRelation, mapSelect, mapStatement, type Pass } from './walk.ts'

/** Each of them is some forty parts of SQL in a zone whose clocks change. */
const SPELLED_MAX = 1_000

/** Spells everything that depends on a time zone. */
export const lowerTimeZones: Pass = (statement, context) => {
  let spelled = 0
  const count = (): void => {
    spelled += 1
    if (spelled > SPELLED_MAX)
      refuseArguments(`A question looks at the clocks of zones at most ${SPELLED_MAX} times`)
  }
  const grouped = mapStatement(statement, { select: groupByLocal })
  const scanned = mapStatement(grouped, { select: (select) => clocksOfScans(select, context) })
  return mapStatement(scanned, {
    expr: (expr) => {
      if (expr.kind !== 'clock' && expr.kind !== 'instant') return expr
      count()
      return expr.kind === 'clock' ? printClock(expr, context) : printInstant(expr, context)
    },
  })
}

/** What is grouped by is the local time; the instant it means is computed after. */
function groupByLocal(select: ResolvedSelect): ResolvedSelect {
  const { group_by } = select
  if (group_by === null) return select
  const sets = group_by.sets.map((keys) =>
    keys.map((key): ResolvedExpr => (key.kind === 'instant' ? key.local : key)),
  )
  return { ...select, group_by: { ...group_by, sets } }
}

/** Clocks found on columns of scans, by column and zone. */
type Clocks = Map<string, ClockUse>
type ClockUse = { readonly id: number; readonly clock: ClockOf; readonly column: ColumnExpr }

/** Clocks of a scan's column become columns of the scan, however often they are looked at. */
function clocksOfScans(select: ResolvedSelect, context: CompileContext): ResolvedSelect {
  const scans = new Set<number>()
  if (select.from !== null) collectScans(select.from, scans)
  if (scans.size === 0) return select
  const found: Clocks = new Map()
  const look = (expr: ResolvedExpr): ResolvedExpr =>
    mapExpr(expr, { expr: (part) => columnOfClock(part, scans, found) })
  const inJoins = (relation: Relation): Relation => mapRelation(relation, look, inJoins)
  const moved = mapSelect(select, look, inJoins)
  if (found.size === 0 || moved.from === null) return moved
  const spelled = [...found.values()].map(({ id, clock, column }) => ({
    id,
    relation: column.relation,
    expr: printClock(clock, context, rangeOf(column, select.known)),
  }))
  return { ...moved, from: withClocks(moved.from, spelled) }
}

function collectScans(relation: Relation, scans: Set<number>): void {
  if (relation.kind === 'scan') scans.add(relation.id)
  if (relation.kind !== 'join') return
  collectScans(relation.left, scans)
  collectScans(relation.right, scans)
}

function columnOfClock(
  expr: ResolvedExpr,
  scans: ReadonlySet<number>,
  found: Clocks,
): ResolvedExpr {
  if (expr.kind !== 'clock' || expr.of.kind !== 'column' || expr.type.kind !== 'datetime')
    return expr
  const { of } = expr
  if (!scans.has(of.relation)) return expr
  const key = `${of.relation} ${of.name} ${expr.type.timezone}`
  const known = found.get(key) ?? { id: found.size + 1, clock: expr, column: of }
  found.set(key, known)
  const column: ColumnExpr = {
    kind: 'column',
    relation: of.relation,
    name: `l${known.id}`,
    type: expr.type,
  }
  return column
}

function rangeOf(column: ColumnExpr, known: readonly TimeBounds[]): TimeBounds | null {
  return (
    known.find((range) => range.relation === column.relation && range.name === column.name) ?? null
  )
}

type LocalizedColumn = {
  readonly id: number
  readonly relation: number
  readonly expr: ResolvedExpr
}

function withClocks(relation: Relation, spelled: readonly LocalizedColumn[]): Relation {
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
