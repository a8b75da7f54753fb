/** Shows the number of a breakdown's values when an answer has only the first of them. */
import type { VNode } from 'preact'
import { useAnswer } from '../../../api/calls/ask.ts'
import { formatNumber } from '../../../parts/format.ts'
import type { ExploreQuery } from '../explore-query.ts'
import style from '../views/result.module.css'

/** As many values as the server lists at most. */
const VALUES_MAX = 1000
/** The number of listed values by default. */
const VALUES_DEFAULT = 25

/** Draws `25 of 300 values`; asks for one number per value to know how many there are. */
export function BreakdownTotal({ query }: { readonly query: ExploreQuery }): VNode {
  const { breakdownFilter, compareFilter: _compare, trendsFilter: _display, ...rest } = query
  const is_trends = query.kind === 'TrendsQuery'
  const all = useAnswer(
    is_trends
      ? {
          ...rest,
          kind: 'TrendsQuery',
          trendsFilter: { display: 'ActionsBarValue' },
          breakdownFilter: {
            ...breakdownFilter,
            breakdown_limit: VALUES_MAX,
            breakdown_hide_other_aggregation: true,
          },
        }
      : null,
  )
  const limit = breakdownFilter?.['breakdown_limit']
  const shown = typeof limit === 'number' ? limit : VALUES_DEFAULT
  const series = Math.max(1, query.series?.length ?? 1)
  const found = all.data && Math.ceil(all.data.results.length / series)
  const total =
    all.data?.hasMore === true ? `more than ${formatNumber(found)}` : formatNumber(found)
  return (
    <p class={style.remark} role="status">
      {found === undefined
        ? `The ${formatNumber(shown)} most frequent values; `
        : `${formatNumber(shown)} of ${total} values; `}
      the rest is counted together as “Other”.
    </p>
  )
}
