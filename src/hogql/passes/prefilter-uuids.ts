/** Pass: an event that is looked for by its uuid is found by the half that files keep as a number, before uuids are put together. */

import type { Apply, ColumnExpr, Relation, ResolvedExpr, ResolvedSelect, ValueExpr } from '../ir.ts'
import { sql } from '../sql-fragments.ts'
import { TRUTH, UINT64, withNull } from '../types.ts'
import { mapStatement, type Pass } from './walk.ts'

/** The last eight bytes of an event's uuid where its file keeps them apart (storage/files/column-encodings.ts), else NULL. */
const UUID_END = 'p_uuid'

/** Adds what follows from a uuid being one of some constants. */
export const prefilterUuids: Pass = (statement, context) =>
  context.property_columns === undefined ? statement : mapStatement(statement, { select: narrowed })

function narrowed(select: ResolvedSelect): ResolvedSelect {
  const { from, where } = select
  if (from === null || where === null) return select
  const ends = conjuncts(where).flatMap((condition) => endsOf(condition, eventsIn(from)))
  if (ends.length === 0) return select
  const args = [where, ...ends]
  const all: Apply = { kind: 'apply', name: 'and', params: [], args, aggregate: null, type: TRUTH }
  return { ...select, where: all }
}

function conjuncts(expr: ResolvedExpr): readonly ResolvedExpr[] {
  return expr.kind === 'apply' && expr.name === 'and' ? expr.args.flatMap(conjuncts) : [expr]
}

function eventsIn(relation: Relation): ReadonlySet<number> {
  if (relation.kind === 'scan')
    return new Set(relation.table.startsWith('events') ? [relation.id] : [])
  if (relation.kind !== 'join') return new Set()
  return new Set([...eventsIn(relation.left), ...eventsIn(relation.right)])
}

const CHOOSING: ReadonlySet<string> = new Set(['equals', 'in'])
/** A longer list is not worth its text. */
const CHOICES_MAX = 100

function endsOf(condition: ResolvedExpr, events: ReadonlySet<number>): readonly ResolvedExpr[] {
  if (condition.kind !== 'apply' || !CHOOSING.has(condition.name)) return []
  const [first, ...more] = condition.args
  const is_turned = condition.name === 'equals' && first?.kind === 'value'
  const [column, others] = is_turned ? [more[0], [first]] : [first, more]
  if (column?.kind !== 'column' || column.name !== 'uuid') return []
  if (!events.has(column.relation)) return []
  const values = others.filter(isUuid)
  if (values.length === 0 || values.length < others.length || values.length > CHOICES_MAX) return []
  const end: ColumnExpr = { ...column, name: UUID_END, type: withNull(UINT64) }
  const found = values.map((value) => sql`${end} = ${endOf(value)}`(TRUTH))
  const any = found.reduce((sum, one) => sql`${sum} OR ${one}`(TRUTH))
  return [sql`(${end} IS NULL OR ${any})`(TRUTH)]
}

const isUuid = (expr: ResolvedExpr): expr is ValueExpr =>
  expr.kind === 'value' && expr.type.kind === 'uuid' && expr.value !== null

const endOf = (value: ValueExpr): ResolvedExpr =>
  sql`('0x' || right(replace(${value}::VARCHAR, '-', ''), 16))::UBIGINT`(UINT64)
