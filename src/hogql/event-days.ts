/** The days a lowered statement reads events of, so that whoever runs it opens no file of other days. */

import type { Relation, ResolvedSelect, Statement, TimeBounds } from './ir.ts'
import { DAY_US } from './local-time.ts'
import { mapStatement } from './passes/walk.ts'
import { type MovableTime, shiftBy, startOfTime } from './relative-time.ts'

/** Days since 1970 in UTC, from the first one up to and without the other; null where there is no bound. */
export type EventDays = { readonly from: number | null; readonly until: number | null }

/** All days that any scan of events reads: what WHERE says of one says nothing of another. */
export function eventDays(statement: Statement): EventDays {
  const scans: EventDays[] = []
  mapStatement(statement, {
    select: (select) => {
      if (select.from !== null) scans.push(...daysOf(select.from, select, true))
      return select
    },
  })
  return {
    from: least(scans.map(({ from }) => from)),
    until: most(scans.map(({ until }) => until)),
  }
}

/** Of the scans in a relation. A row that WHERE turns away must not be there for the join either: `is_kept` says so. */
function daysOf(
  relation: Relation,
  select: ResolvedSelect,
  is_kept: boolean,
): readonly EventDays[] {
  if (relation.kind === 'join') {
    const { left, right } = KEPT_SIDES[relation.join]
    return [
      ...daysOf(relation.left, select, is_kept && left),
      ...daysOf(relation.right, select, is_kept && right),
    ]
  }
  if (relation.kind !== 'scan' || !relation.table.startsWith('events')) return []
  if (!is_kept) return [ALL_DAYS]
  const known = select.known.filter(
    ({ relation: of, name }) => of === relation.id && name === 'timestamp',
  )
  return [known.map(outwards).reduce(within, ALL_DAYS)]
}

const ALL_DAYS: EventDays = { from: null, until: null }

/** The sides of which fewer rows only mean fewer rows of the join, those with these rows in them. */
const KEPT_SIDES: Readonly<
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

function outwards({ from_us, until_us }: TimeBounds): EventDays {
  return {
    from: from_us === null ? null : dayOf(from_us),
    until: until_us === null ? null : dayOf(shiftBy(until_us, -1n)) + 1,
  }
}

function dayOf(time: MovableTime): number {
  return Number(startOfTime(time, 'Day') / DAY_US)
}

function within(left: EventDays, right: EventDays): EventDays {
  return {
    from: most([left.from, right.from].filter((day) => day !== null)),
    until: least([left.until, right.until].filter((day) => day !== null)),
  }
}

/** Null when any is, and when there are none. */
function least(days: readonly (number | null)[]): number | null {
  const known = days.filter((day) => day !== null)
  return known.length < days.length || known.length === 0 ? null : Math.min(...known)
}

function most(days: readonly (number | null)[]): number | null {
  const known = days.filter((day) => day !== null)
  return known.length < days.length || known.length === 0 ? null : Math.max(...known)
}
