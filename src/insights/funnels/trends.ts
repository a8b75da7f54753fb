/** A funnel by the time it is entered: which part of those who enter come through. Wire §5.8. */

import { constant } from '../../hogql/nodes.ts'
import { type Bucket, bucketsOf } from '../buckets.ts'
import { scaled } from '../conditions.ts'
import type { AskRows, InsightAnswer } from '../insight.ts'
import { requireNumbers } from '../numbers.ts'
import { expr, select } from '../tree.ts'
import { actorsTree, type Cohort } from './actors-tree.ts'
import type { Funnel } from './definition.ts'
import { askGroups, type Group } from './groups.ts'

/** The share of each bucket in percent; broken down, a series for each value. */
export async function answerTrends(funnel: Funnel, ask: AskRows): Promise<InsightAnswer> {
  const buckets = bucketsOf(funnel.range)
  const { groups, hogql } = await askGroups(
    funnel,
    {
      rows: (cohort) => entrancesTree(funnel, cohort),
      // One row per group, its buckets in lists side by side.
      columns: [
        expr`sum(entered)`,
        expr`groupArray(bucket)`,
        expr`groupArray(entered)`,
        expr`groupArray(through)`,
      ],
      rank: [expr`sum(entered)`],
    },
    ask,
  )
  const found = funnel.breakdowns === null && groups.length === 0 ? [NOBODY] : groups
  requireNumbers(found.length * buckets.length)
  return { results: found.map((group) => seriesOf(funnel, group, buckets)), hogql }
}

const NOBODY: Group = { named: null, row: [0, [], [], []] }

/** Rows of `breakdown`, `bucket` (its index), `entered`, `through`. */
function entrancesTree(funnel: Funnel, cohort: Cohort) {
  const one = expr`arrayJoin(arrayMap(entrance -> toInt(entrance), taken))`
  return select`select breakdown, intDiv(one, ${constant(2n)}) as bucket, count() as entered,
    countIf(one % 2 = 1) as through
    from (select breakdown, ${one} as one from ${actorsTree(funnel, 'entrances', cohort)})
    group by breakdown, bucket`
}

function seriesOf(funnel: Funnel, { named, row }: Group, buckets: readonly Bucket[]): object {
  const [, at, entered, through] = row.map((column) => (Array.isArray(column) ? column : []))
  const summed = new Map<number, { entered: number; through: number }>()
  for (const [index, bucket] of (at ?? []).entries()) {
    const before = summed.get(Number(bucket)) ?? { entered: 0, through: 0 }
    summed.set(Number(bucket), {
      entered: before.entered + Number(entered?.[index]),
      through: before.through + Number(through?.[index]),
    })
  }
  const shares = buckets.map((_, bucket) => {
    const counts = summed.get(bucket)
    return counts === undefined ? 0 : Math.round((10_000 * counts.through) / counts.entered) / 100
  })
  return {
    count: scaled(Number(row[0]), funnel.question),
    data: shares,
    days: buckets.map(({ day }) => day),
    labels: buckets.map(({ label }) => label),
    ...(named === null ? {} : { breakdown_value: named.breakdown_value }),
  }
}
