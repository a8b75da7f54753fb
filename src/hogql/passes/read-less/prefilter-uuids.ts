/**
 * Pass prefilterUuids: files store the second half of a uuid as a number, which is compared before
 * uuids are assembled.
 *
 *   WHERE uuid = '…'
 *   → WHERE uuid = '…' AND (p_uuid IS NULL OR p_uuid = 0x…)
 */

import { UUID_END_COLUMN } from '../../../column-names.ts'
import type { ColumnExpr, Relation, ResolvedExpr, ResolvedSelect, ValueExpr } from '../../sql/ir.ts'
import { conjunction, sql } from '../../sql/sql-fragments.ts'
import { TRUTH, UINT64, withNull } from '../../types/types.ts'
import { conjuncts, mapStatement, type Pass } from '../walk.ts'

/** Adds the implied condition wherever WHERE requires a uuid to be one of some constants. */
export const prefilterUuids: Pass = (statement, context) =>
  context.has_property_columns === true
    ? mapStatement(statement, { select: addPrefilters })
    : statement

function addPrefilters(select: ResolvedSelect): ResolvedSelect {
  const { from, where } = select
  if (from === null || where === null) return select
  const prefilters = conjuncts(where).flatMap((condition) =>
    prefiltersOf(condition, eventsIn(from)),
  )
  if (prefilters.length === 0) return select
  return { ...select, where: conjunction([where, ...prefilters]) }
}

function eventsIn(relation: Relation): ReadonlySet<number> {
  if (relation.kind === 'scan')
    return new Set(relation.table.startsWith('events') ? [relation.id] : [])
  if (relation.kind !== 'join') return new Set()
  return new Set([...eventsIn(relation.left), ...eventsIn(relation.right)])
}

const EQUALITIES: ReadonlySet<string> = new Set(['equals', 'in'])
/** For a longer list the condition costs more than it saves. */
const VALUES_MAX = 100

function prefiltersOf(
  condition: ResolvedExpr,
  events: ReadonlySet<number>,
): readonly ResolvedExpr[] {
  if (condition.kind !== 'apply' || !EQUALITIES.has(condition.name)) return []
  const [first, ...more] = condition.args
  const is_swapped = condition.name === 'equals' && first?.kind === 'value'
  const [column, others] = is_swapped ? [more[0], [first]] : [first, more]
  if (column?.kind !== 'column' || column.name !== 'uuid') return []
  if (!events.has(column.relation)) return []
  const values = others.filter(isUuid)
  if (values.length === 0 || values.length < others.length || values.length > VALUES_MAX) return []
  const uuid_end: ColumnExpr = { ...column, name: UUID_END_COLUMN, type: withNull(UINT64) }
  const comparisons = values.map((value) => sql`${uuid_end} = ${endOfUuid(value)}`(TRUTH))
  const any = comparisons.reduce((sum, comparison) => sql`${sum} OR ${comparison}`(TRUTH))
  return [sql`(${uuid_end} IS NULL OR ${any})`(TRUTH)]
}

const isUuid = (expr: ResolvedExpr): expr is ValueExpr =>
  expr.kind === 'value' && expr.type.kind === 'uuid' && expr.value !== null

const endOfUuid = (value: ValueExpr): ResolvedExpr =>
  sql`('0x' || right(replace(${value}::VARCHAR, '-', ''), 16))::UBIGINT`(UINT64)
