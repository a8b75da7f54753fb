/**
 * Pass propagateTimeRanges (predicate pushdown): a known range of a session's time also bounds the
 * events that the session is computed from.
 *
 *   FROM events LEFT JOIN (SELECT … GROUP BY session) s … WHERE s.start >= a
 *   → FROM events LEFT JOIN (SELECT … WHERE timestamp >= a - 3 days GROUP BY session) s …
 */

import type {
  DerivedTable,
  Relation,
  ResolvedExpr,
  ResolvedSelect,
  TimeBounds,
} from '../../sql/ir.ts'
import { applyFragment, bind } from '../../sql/sql-fragments.ts'
import { shiftBy } from '../../times/relative-time.ts'
import { TRUTH } from '../../types/types.ts'
import { keepExpr, mapRelation, mapStatement, type Pass } from '../walk.ts'

/** A session ends within a day; rows further than this from one of its instants belong to others. */
const SPAN_MAX_US = 3n * 86_400_000_000n

/** Passes known ranges of a select to the sub-selects whose groups lie near them. */
export const propagateTimeRanges: Pass = (statement) =>
  mapStatement(statement, {
    select: (select) =>
      select.from === null || select.time_bounds.length === 0
        ? select
        : { ...select, from: inRelation(select.from, select.time_bounds) },
  })

function inRelation(relation: Relation, bounds: readonly TimeBounds[]): Relation {
  if (relation.kind === 'derived') return boundGroups(relation, bounds)
  if (relation.kind !== 'join') return relation
  return mapRelation(relation, keepExpr, (inner) => inRelation(inner, bounds))
}

function boundGroups(derived: DerivedTable, bounds: readonly TimeBounds[]): DerivedTable {
  const { span, query } = derived
  if (span === undefined || query.kind !== 'select') return derived
  const ranges = bounds.filter((range) =>
    span.by.some((end) => end.relation === range.relation && end.name === range.name),
  )
  const conditions = ranges.flatMap((range): readonly ResolvedExpr[] => [
    ...(range.from_us === null
      ? []
      : [
          applyFragment(
            'greaterOrEquals',
            [span.time, bind(shiftBy(range.from_us, -SPAN_MAX_US), span.time.type)],
            TRUTH,
          ),
        ]),
    ...(range.until_us === null
      ? []
      : [
          applyFragment(
            'less',
            [span.time, bind(shiftBy(range.until_us, SPAN_MAX_US), span.time.type)],
            TRUTH,
          ),
        ]),
  ])
  if (conditions.length === 0) return derived
  const { relation, name } = span.time
  const group_bounds = ranges.map(({ from_us, until_us }) => ({
    relation,
    name,
    from_us: from_us === null ? null : shiftBy(from_us, -SPAN_MAX_US),
    until_us: until_us === null ? null : shiftBy(until_us, SPAN_MAX_US),
  }))
  return { ...derived, query: addConditions(query, conditions, group_bounds) }
}

function addConditions(
  select: ResolvedSelect,
  conditions: readonly ResolvedExpr[],
  group_bounds: readonly TimeBounds[],
): ResolvedSelect {
  const { where, time_bounds } = select
  const all = where === null ? conditions : [where, ...conditions]
  return {
    ...select,
    where: applyFragment('and', all, TRUTH),
    time_bounds: [...time_bounds, ...group_bounds],
  }
}
