/**
 * Pass materializeLate (late materialization): a list finds its rows by narrow columns first,
 * because assembling `properties` from its columns costs about 10 µs a row.
 *
 *   SELECT * FROM events ORDER BY timestamp LIMIT 100
 *   → SELECT * FROM events WHERE seq IN (
 *       SELECT seq FROM events_lean ORDER BY timestamp LIMIT 100) ORDER BY timestamp LIMIT 100
 */

import type { ColumnExpr, Relation, ResolvedExpr, ResolvedSelect, Scan } from '../../sql/ir.ts'
import { sql } from '../../sql/sql-fragments.ts'
import { INT64, TRUTH } from '../../types/types.ts'
import { mapRelation, mapStatement, type Pass, someExpr } from '../walk.ts'

/** Adds the condition to every plain list that is worth it; the outer order and limit remain. */
export const materializeLate: Pass = (statement, context) =>
  // Without property columns there is nothing to assemble.
  context.has_property_columns === true
    ? mapStatement(statement, { select: narrowList })
    : statement

function narrowList(select: ResolvedSelect): ResolvedSelect {
  const scan = select.from === null ? null : firstEvents(select.from)
  if (scan === null || select.limit === null || !isPlainList(select)) return select
  if (!isWorthIt(select, scan)) return select
  const seq: ColumnExpr = { kind: 'column', relation: scan.id, name: 'seq', type: INT64 }
  const { offset, limit } = select
  const row_ids: ResolvedSelect = {
    ...select,
    columns: [{ id: 1, expr: seq }],
    from: select.from === null ? null : scanNarrow(select.from, scan.id),
    limit: offset === null ? limit : sql`(${limit} + ${offset})`(INT64),
    offset: null,
  }
  const rows: ResolvedExpr = { kind: 'subquery', form: 'rows', query: row_ids, type: INT64 }
  const is_shown = sql`${seq} IN ${rows}`(TRUTH)
  const where = select.where === null ? is_shown : sql`(${select.where} AND ${is_shown})`(TRUTH)
  return { ...select, where }
}

/** Whether the select shows rows as they are, ordered and limited. */
function isPlainList(select: ResolvedSelect): boolean {
  const { distinct, group_by, having, limit_by, limit_percent, order_by, qualify, with_ties } =
    select
  if (order_by.length === 0 || distinct || limit_percent || with_ties) return false
  if ([group_by, having, limit_by, qualify].some((part) => part !== null)) return false
  const all = [...select.columns, ...order_by].map(({ expr }) => expr)
  if (select.where !== null) all.push(select.where)
  return !all.some((expr) => someExpr(expr, isNotPerRow))
}

/** Depends on several rows, or is different each time. */
function isNotPerRow(expr: ResolvedExpr): boolean {
  if (expr.kind === 'aggregate' || expr.kind === 'window') return true
  return expr.kind === 'fragment' && expr.is_random === true
}

/** The scan of events that a relation begins with, where each of its rows appears in the relation. */
function firstEvents(relation: Relation): Scan | null {
  if (relation.kind === 'scan') return EVENTS.has(relation.table) ? relation : null
  if (relation.kind !== 'join' || !JOINS_KEEPING_LEFT.has(relation.join)) return null
  return firstEvents(relation.left)
}

const JOINS_KEEPING_LEFT: ReadonlySet<string> = new Set([
  'ANTI',
  'ASOF LEFT',
  'CROSS',
  'INNER',
  'LEFT',
  'SEMI',
])

const EVENTS: ReadonlySet<string> = new Set(['events', 'events_lean'])

/**
 * Not worth it when the expensive columns decide which rows are shown. Nor for the events of one person when only uuids
 * are read late: searching those few events twice costs more than reading their uuids.
 */
function isWorthIt(select: ResolvedSelect, { id, table }: Scan): boolean {
  const reads = (exprs: readonly ResolvedExpr[], names: ReadonlySet<string>): boolean =>
    exprs.some((expr) =>
      someExpr(
        expr,
        (part) => part.kind === 'column' && part.relation === id && names.has(part.name),
      ),
    )
  const where = select.where === null ? [] : [select.where]
  const from = select.from === null ? [] : exprsOf(select.from)
  const deciding = [...select.order_by.map(({ expr }) => expr), ...where, ...from]
  if (table === 'events') return !reads(deciding, PROPERTIES)
  const shown_exprs = select.columns.map(({ expr }) => expr)
  return reads(shown_exprs, UUIDS) && !reads(deciding, UUIDS) && !reads(where, ONE_PERSON)
}

const PROPERTIES = new Set(['properties'])
const UUIDS = new Set(['uuid'])
const ONE_PERSON = new Set(['distinct_id', 'person_id'])

function exprsOf(relation: Relation): readonly ResolvedExpr[] {
  const exprs: ResolvedExpr[] = []
  const visit = (inner: Relation): Relation =>
    mapRelation(
      inner,
      (expr) => {
        exprs.push(expr)
        return expr
      },
      visit,
    )
  visit(relation)
  return exprs
}

function scanNarrow(relation: Relation, id: number): Relation {
  if (relation.kind === 'join') return { ...relation, left: scanNarrow(relation.left, id) }
  return relation.kind === 'scan' && relation.id === id
    ? { ...relation, table: 'events_lean' }
    : relation
}
