/** Funnel conversion over time, by the bucket of entrance. */

import { alias, constant } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { bucketsOf, type TimeBucket } from '../dates/buckets.ts'
import type { InsightAnswer, RunTree } from '../insight.ts'
import { requireNumbers } from '../numbers.ts'
import { actorsTree, type FunnelCohort } from './actors-tree.ts'
import type { Funnel } from './definition.ts'
import { type FunnelGroup, queryGroups } from './groups.ts'

/**
 * Conversion in percent per bucket; with a breakdown a series per value, sorted by value. Values beyond the limit have
 * no series ("Other"): shares of different values have no sum.
 */
export async function answerTrends(funnel: Funnel, run: RunTree): Promise<InsightAnswer> {
  const buckets = bucketsOf(funnel.range)
  const { groups, hogql } = await queryGroups(
    funnel,
    {
      rows: (cohort) => entrancesTree(funnel, cohort),
      // One row per group, with the list of its buckets.
      columns: [alias(expr`arraySort(groupArray(tuple(bucket, entered, through)))`, 'buckets')],
      rank: [expr`sum(entered)`],
      has_others: false,
    },
    run,
  )
  const shown = funnel.breakdowns === null && groups.length === 0 ? [EMPTY_GROUP] : groups
  requireNumbers(shown.length * buckets.length)
  const sorted = shown.toSorted((a, b) => (valueText(a) < valueText(b) ? -1 : 1))
  const results = await mapInSlices(sorted, (group) => seriesOf(group, buckets))
  return { results, hogql }
}

const valueText = ({ named }: FunnelGroup): string => JSON.stringify(named?.breakdown ?? null)

/** The answer of a funnel without a breakdown that no actor entered: zeros. */
const EMPTY_GROUP: FunnelGroup = { named: null, row: [[]] }

/** Rows of `breakdown`, `bucket` (its index), `entered`, `through`. */
function entrancesTree(funnel: Funnel, cohort: FunnelCohort) {
  const one = expr`arrayJoin(arrayMap(entrance -> toInt(entrance), taken))`
  return select`select breakdown, intDiv(one, ${constant(2n)}) as bucket, count() as entered,
    countIf(one % 2 = 1) as through
    from (select breakdown, ${one} as one from ${actorsTree(funnel, 'entrances', cohort)})
    group by breakdown, bucket`
}

/** One series; its `count` is the number of its points. */
function seriesOf({ named, row }: FunnelGroup, buckets: readonly TimeBucket[]): object {
  const [counted] = row
  const summed = new Map<number, { entered: number; through: number }>()
  for (const [bucket, entered, through] of Array.isArray(counted) ? counted : []) {
    const before = summed.get(Number(bucket)) ?? { entered: 0, through: 0 }
    summed.set(Number(bucket), {
      entered: before.entered + Number(entered),
      through: before.through + Number(through),
    })
  }
  const shares = buckets.map((_, bucket) => {
    const counts = summed.get(bucket)
    return counts === undefined ? 0 : Math.round((10_000 * counts.through) / counts.entered) / 100
  })
  return {
    count: buckets.length,
    data: shares,
    days: buckets.map(({ day }) => day),
    labels: buckets.map(({ label }) => label),
    ...(named === null ? {} : { breakdown_value: named.breakdown_value }),
  }
}
