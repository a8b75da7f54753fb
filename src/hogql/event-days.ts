/** The days of events that a lowered statement reads, so that the worker opens no file of other days. */

import { DAY_US } from '../time.ts'
import { mapStatement } from './passes/walk.ts'
import type { Relation, ResolvedSelect, Statement, TimeBounds } from './sql/ir.ts'
import { shiftBy, startOfTime, type TimeValue } from './times/relative-time.ts'

/** Days since 1970 in UTC, `until` exclusive; null where there is no bound. */
export type EventDays = { readonly from: number | null; readonly until: number | null }

/** The union of the days of all scans of events: a WHERE on one scan does not bound another. */
export function eventDays(statement: Statement): EventDays {
  const scans: EventDays[] = []
  mapStatement(statement, {
    select: (select) => {
      if (select.from !== null) scans.push(...daysOf(select.from, select, true))
      return select
    },
  })
  return {
    from: earliestDay(scans.map(({ from }) => from)),
    until: latestDay(scans.map(({ until }) => until)),
  }
}

/**
 * Days of the scans in a relation; `is_filterable` says whether its rows may be filtered before the
 * joins around it without changing the remaining rows.
 */
function daysOf(
  relation: Relation,
  select: ResolvedSelect,
  is_filterable: boolean,
): readonly EventDays[] {
  if (relation.kind === 'join') {
    const { left, right } = FILTERABLE_SIDES[relation.join]
    return [
      ...daysOf(relation.left, select, is_filterable && left),
      ...daysOf(relation.right, select, is_filterable && right),
    ]
  }
  if (relation.kind !== 'scan' || !relation.table.startsWith('events')) return []
  if (!is_filterable) return [ALL_DAYS]
  const bounds = select.time_bounds.filter(
    ({ relation: of, name }) => of === relation.id && name === 'timestamp',
  )
  return [bounds.map(widenToDays).reduce(intersectDays, ALL_DAYS)]
}

const ALL_DAYS: EventDays = { from: null, until: null }

/** Join sides whose rows can be filtered before the join without changing the remaining rows. */
const FILTERABLE_SIDES: Readonly<
  Record<(Relation & { kind: 'join' })['join'], { readonly left: boolean; readonly right: boolean }>
> = {
  ANTI: { left: true, right: false },
  ASOF: { left: true, right: false },
  'ASOF LEFT': { left: true, right: false },
  CROSS: { left: true, right: true },
  FULL: { left: false, right: false },
  INNER: { left: true, right: true },
  LEFT: { left: true, right: false },
  POSITIONAL: { left: false, right: false },
  RIGHT: { left: false, right: true },
  SEMI: { left: true, right: false },
}

function widenToDays({ from_us, until_us }: TimeBounds): EventDays {
  return {
    from: from_us === null ? null : dayOf(from_us),
    until: until_us === null ? null : dayOf(shiftBy(until_us, -1n)) + 1,
  }
}

function dayOf(time: TimeValue): number {
  return Number(startOfTime(time, 'Day') / DAY_US)
}

function intersectDays(left: EventDays, right: EventDays): EventDays {
  return {
    from: latestDay([left.from, right.from].filter((day) => day !== null)),
    until: earliestDay([left.until, right.until].filter((day) => day !== null)),
  }
}

/** The minimum; null (unbounded) when any is null, or there are none. */
function earliestDay(days: readonly (number | null)[]): number | null {
  const bounded = days.filter((day) => day !== null)
  return bounded.length < days.length || bounded.length === 0 ? null : Math.min(...bounded)
}

function latestDay(days: readonly (number | null)[]): number | null {
  const bounded = days.filter((day) => day !== null)
  return bounded.length < days.length || bounded.length === 0 ? null : Math.max(...bounded)
}
