/**
 * Pass groupBeforeOverrides (eager aggregation): groups by person are made of the stored persons first, and only these are
 * joined with the persons that they were merged into. The join takes 8 ns for each event, and DuckDB groups by a column as
 * it is stored once for each value of a file's dictionary.
 *
 *   SELECT today(e.person_id, o.person_id), count(*) FROM events e LEFT JOIN person_overrides o ON … GROUP BY 1
 *   → SELECT today(c1, o.person_id), sum(c2) FROM (
 *       SELECT person_id AS c1, count(*) AS c2 FROM events GROUP BY person_id
 *     ) e LEFT JOIN person_overrides o ON … GROUP BY 1
 *
 * Gain: a million events of 20,000 persons take 17 instead of 23 ms of processor time; with 20 random events for each person
 * 39 instead of 65, with five 80 instead of 100, with only two 133 instead of 100. `test/hogql/group-before-overrides.test.ts`
 * compares the rows with those of the plain form.
 */

import { groupKeyIdentity } from '../../resolve/grouping.ts'
import {
  type Aggregate,
  type ColumnExpr,
  type GroupBy,
  type Join,
  NO_LIMITS,
  type Output,
  type ResolvedExpr,
  type ResolvedSelect,
  type Scan,
} from '../../sql/ir.ts'
import { aggregateFragment, sql } from '../../sql/sql-fragments.ts'
import { UUID } from '../../types/types.ts'
import { keepQuery, mapChildren, mapStatement, operandsOf, type Pass, someExpr } from '../walk.ts'

/** Parts the groups of every select that groups events by person and nothing else. */
export const groupBeforeOverrides: Pass = (statement) =>
  mapStatement(statement, { select: groupStored })

/** Aggregates of a group that are aggregates of its parts, and how the parts' results are put together. */
const COMBINATIONS = new Map<string, (part: ColumnExpr) => ResolvedExpr>([
  ['count', (part) => sql`(${aggregateFragment('sum', [part], part.type)})::BIGINT`(part.type)],
  ['max', (part) => aggregateFragment('max', [part], part.type)],
  ['min', (part) => aggregateFragment('min', [part], part.type)],
])

/** Events with the persons that they belong to today. */
type JoinedEvents = { readonly join: Join; readonly events: Scan; readonly overrides: number }

function joinedEvents({ from }: ResolvedSelect): JoinedEvents | null {
  if (from?.kind !== 'join' || from.join !== 'LEFT') return null
  const { left, right } = from
  if (left.kind !== 'scan' || right.kind !== 'scan') return null
  if (!left.table.startsWith('events') || right.table !== 'person_overrides') return null
  return { join: from, events: left, overrides: right.id }
}

function groupStored(select: ResolvedSelect): ResolvedSelect {
  const joined = joinedEvents(select)
  const { group_by, having, limit_by, qualify, where } = select
  if (joined === null || group_by?.mode !== 'plain' || limit_by !== null || qualify !== null)
    return select
  const keys = group_by.sets.flat()
  const shown = [...select.columns, ...select.order_by].map(({ expr }) => expr)
  const grouped = [...keys, ...shown, ...(having === null ? [] : [having])]
  const is_of_parts =
    keys.length > 0 &&
    grouped.every((expr) => isOfGroups(expr, joined)) &&
    (where === null || isOfEvents(where, joined)) &&
    (joined.join.on === null || isOfGroups(joined.join.on, joined))
  return is_of_parts ? partGroups(select, joined, group_by) : select
}

/** True for an expression of the stored person, its override, and aggregates of events that can be combined. */
function isOfGroups(expr: ResolvedExpr, joined: JoinedEvents): boolean {
  if (expr.kind === 'aggregate') return isCombined(expr, joined)
  if (expr.kind === 'column') return expr.relation === joined.overrides || isStored(expr, joined)
  if (isNotPerRow(expr)) return false
  return operandsOf(expr).every((operand) => isOfGroups(operand, joined))
}

function isCombined(call: Aggregate, joined: JoinedEvents): boolean {
  const { args, distinct, filter, name, order_by, over } = call
  if (
    !COMBINATIONS.has(name) ||
    args.length > 1 ||
    distinct ||
    order_by.length > 0 ||
    over !== null
  )
    return false
  return [...args, ...(filter === null ? [] : [filter])].every((expr) => isOfEvents(expr, joined))
}

/** True for an expression that reads nothing but the event. */
function isOfEvents(expr: ResolvedExpr, joined: JoinedEvents): boolean {
  return !someExpr(
    expr,
    (part) => isNotPerRow(part) || (part.kind === 'column' && part.relation !== joined.events.id),
  )
}

/** Depends on other rows, or is different each time. */
function isNotPerRow(expr: ResolvedExpr): boolean {
  if (expr.kind === 'aggregate' && expr.over !== null) return true
  if (expr.kind === 'subquery' || expr.kind === 'window') return true
  return expr.kind === 'fragment' && expr.is_random === true
}

const isStored = ({ relation, name }: ColumnExpr, { events }: JoinedEvents): boolean =>
  relation === events.id && name === 'person_id'

/** Ids of the relations made here; others are smaller. */
const FIRST_ID = 4_000_000

function partGroups(
  select: ResolvedSelect,
  joined: JoinedEvents,
  group_by: GroupBy,
): ResolvedSelect {
  const { join, events } = joined
  const id = FIRST_ID + events.id
  const stored: ColumnExpr = { kind: 'column', relation: events.id, name: 'person_id', type: UUID }
  const parts: Output[] = [{ id: 1, expr: stored }]
  const readPart = (expr: ResolvedExpr): ColumnExpr => {
    const same = groupKeyIdentity(expr)
    const known = parts.find((part) => groupKeyIdentity(part.expr) === same)
    const part = known ?? { id: parts.length + 1, expr }
    if (known === undefined) parts.push(part)
    return { kind: 'column', relation: id, name: `c${part.id}`, type: expr.type }
  }
  const combine = (expr: ResolvedExpr): ResolvedExpr => {
    if (expr.kind === 'aggregate') return COMBINATIONS.get(expr.name)?.(readPart(expr)) ?? expr
    if (expr.kind === 'column') return isStored(expr, joined) ? readPart(expr) : expr
    return mapChildren(expr, combine, keepQuery)
  }
  const { having } = select
  const outer: ResolvedSelect = {
    ...select,
    columns: select.columns.map((column) => ({ ...column, expr: combine(column.expr) })),
    where: null,
    time_bounds: [],
    group_by: { ...group_by, sets: group_by.sets.map((set) => set.map(combine)) },
    having: having === null ? null : combine(having),
    order_by: select.order_by.map((order) => ({ ...order, expr: combine(order.expr) })),
  }
  const inner: ResolvedSelect = {
    ...select,
    ...NO_LIMITS,
    columns: parts,
    distinct: false,
    from: events,
    group_by: { mode: 'plain', sets: [[stored]] },
    having: null,
  }
  const on = join.on === null ? null : combine(join.on)
  return { ...outer, from: { ...join, left: { kind: 'derived', id, query: inner }, on } }
}
