/** Pass: a list of events finds out first which ones it shows, and only then puts their properties and uuids together. */

import type { ColumnExpr, Relation, ResolvedExpr, ResolvedSelect, Scan } from '../ir.ts'
import { sql } from '../sql-fragments.ts'
import { INT64, TRUTH } from '../types.ts'
import { mapRelation, mapStatement, type Pass, someExpr } from './walk.ts'

/** Every list keeps its meaning: what it could show is narrowed to the rows that it does show. */
export const materializeLate: Pass = (statement, context) =>
  // Without columns nothing is put together.
  context.property_columns === undefined ? statement : mapStatement(statement, { select: narrowed })

function narrowed(select: ResolvedSelect): ResolvedSelect {
  const scan = select.from === null ? null : firstEvents(select.from)
  if (scan === null || select.limit === null || !isPlainList(select)) return select
  if (!isWorthIt(select, scan)) return select
  const seq: ColumnExpr = { kind: 'column', relation: scan.id, name: 'seq', type: INT64 }
  const { offset, limit } = select
  const shown: ResolvedSelect = {
    ...select,
    columns: [{ id: 1, expr: seq }],
    from: select.from === null ? null : leaner(select.from, scan.id),
    limit: offset === null ? limit : sql`(${limit} + ${offset})`(INT64),
    offset: null,
  }
  const rows: ResolvedExpr = { kind: 'subquery', form: 'rows', query: shown, type: INT64 }
  const is_shown = sql`${seq} IN ${rows}`(TRUTH)
  const where = select.where === null ? is_shown : sql`(${select.where} AND ${is_shown})`(TRUTH)
  return { ...select, where }
}

/** Rows as they are, in an order, so many of them. */
function isPlainList(select: ResolvedSelect): boolean {
  const { distinct, group_by, having, limit_by, limit_percent, order_by, qualify, with_ties } =
    select
  if (order_by.length === 0 || distinct || limit_percent || with_ties) return false
  if ([group_by, having, limit_by, qualify].some((part) => part !== null)) return false
  const all = [...select.columns, ...order_by].map(({ expr }) => expr)
  if (select.where !== null) all.push(select.where)
  return !all.some((expr) => someExpr(expr, isOfMany))
}

/** Worked out of several rows, or another time each time. */
function isOfMany(expr: ResolvedExpr): boolean {
  if (expr.kind === 'aggregate' || expr.kind === 'window') return true
  return expr.kind === 'fragment' && expr.pieces.some((piece) => CHANCE.test(piece))
}

const CHANCE = /random|uuid\(\)/i

/** The events that a relation begins with, when they are read whole; their rows are there in every row of it. */
function firstEvents(relation: Relation): Scan | null {
  if (relation.kind === 'scan') return EVENTS.has(relation.table) ? relation : null
  if (relation.kind !== 'join' || !KEEPS_LEFT.has(relation.join)) return null
  return firstEvents(relation.left)
}

const KEEPS_LEFT: ReadonlySet<string> = new Set([
  'ANTI',
  'ASOF LEFT',
  'CROSS',
  'INNER',
  'LEFT',
  'SEMI',
])

const EVENTS: ReadonlySet<string> = new Set(['events', 'events_lean'])

/**
 * Not when what is dear is needed to know which rows are shown. Uuids are less dear than properties: not when the events
 * of somebody are asked for either, which are so few that to look for them twice takes longer.
 */
function isWorthIt(select: ResolvedSelect, { id, table }: Scan): boolean {
  const reads = (exprs: readonly ResolvedExpr[], names: ReadonlySet<string>): boolean =>
    exprs.some((expr) =>
      someExpr(expr, (one) => one.kind === 'column' && one.relation === id && names.has(one.name)),
    )
  const where = select.where === null ? [] : [select.where]
  const from = select.from === null ? [] : exprsOf(select.from)
  const needed = [...select.order_by.map(({ expr }) => expr), ...where, ...from]
  if (table === 'events') return !reads(needed, PROPERTIES)
  const shown = select.columns.map(({ expr }) => expr)
  return reads(shown, UUIDS) && !reads(needed, UUIDS) && !reads(where, SOMEBODY)
}

const PROPERTIES = new Set(['properties'])
const UUIDS = new Set(['uuid'])
const SOMEBODY = new Set(['distinct_id', 'person_id'])

function exprsOf(relation: Relation): readonly ResolvedExpr[] {
  const found: ResolvedExpr[] = []
  const visit = (inner: Relation): Relation =>
    mapRelation(
      inner,
      (expr) => {
        found.push(expr)
        return expr
      },
      visit,
    )
  visit(relation)
  return found
}

function leaner(relation: Relation, id: number): Relation {
  if (relation.kind === 'join') return { ...relation, left: leaner(relation.left, id) }
  return relation.kind === 'scan' && relation.id === id
    ? { ...relation, table: 'events_lean' }
    : relation
}
