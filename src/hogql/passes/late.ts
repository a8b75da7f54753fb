/** Pass: a list of events finds out first which ones it shows, and only then puts their properties together. */

import type { Column, Expr } from '../ir.ts'
import type { Relation, Scan, Select } from '../ir-queries.ts'
import { sql } from '../spell.ts'
import { INT64, TRUTH } from '../types.ts'
import { mapRelation, mapStatement, type Pass, someExpr } from './walk.ts'

/** Every list keeps its meaning: what it could show is narrowed to the rows that it does show. */
export const late: Pass = (statement, context) =>
  // Without columns nothing is put together.
  context.property_columns === undefined ? statement : mapStatement(statement, { select: narrowed })

function narrowed(select: Select): Select {
  const scan = select.from === null ? null : firstEvents(select.from)
  if (scan === null || select.limit === null || !isPlainList(select)) return select
  if (readsWhole(select, scan)) return select
  const seq: Column = { kind: 'column', relation: scan.id, name: 'seq', type: INT64 }
  const { offset, limit } = select
  const shown: Select = {
    ...select,
    columns: [{ id: 1, expr: seq }],
    from: select.from === null ? null : leaner(select.from, scan.id),
    limit: offset === null ? limit : sql`(${limit} + ${offset})`(INT64),
    offset: null,
  }
  const rows: Expr = { kind: 'subquery', form: 'rows', query: shown, type: INT64 }
  const is_shown = sql`${seq} IN ${rows}`(TRUTH)
  const where = select.where === null ? is_shown : sql`(${select.where} AND ${is_shown})`(TRUTH)
  return { ...select, where }
}

/** Rows as they are, in an order, so many of them. */
function isPlainList(select: Select): boolean {
  const { distinct, group_by, having, limit_by, limit_percent, order_by, qualify, with_ties } =
    select
  if (order_by.length === 0 || distinct || limit_percent || with_ties) return false
  if ([group_by, having, limit_by, qualify].some((part) => part !== null)) return false
  const all = [...select.columns, ...order_by].map(({ expr }) => expr)
  if (select.where !== null) all.push(select.where)
  return !all.some((expr) => someExpr(expr, isOfMany))
}

/** Worked out of several rows, or another time each time. */
function isOfMany(expr: Expr): boolean {
  if (expr.kind === 'gather' || expr.kind === 'window') return true
  return expr.kind === 'spelled' && expr.pieces.some((piece) => CHANCE.test(piece))
}

const CHANCE = /random|uuid\(\)/i

/** The events that a relation begins with, when they are read whole; their rows are there in every row of it. */
function firstEvents(relation: Relation): Scan | null {
  if (relation.kind === 'scan') return relation.table === 'events' ? relation : null
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

/** Whether properties are needed to know which rows are shown: then nothing is won. */
function readsWhole(select: Select, { id }: Scan): boolean {
  const isWhole = (expr: Expr): boolean =>
    expr.kind === 'column' && expr.relation === id && expr.name === 'properties'
  const all = select.order_by.map(({ expr }) => expr)
  if (select.where !== null) all.push(select.where)
  if (select.from !== null) all.push(...exprsOf(select.from))
  return all.some((expr) => someExpr(expr, isWhole))
}

function exprsOf(relation: Relation): readonly Expr[] {
  const found: Expr[] = []
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
