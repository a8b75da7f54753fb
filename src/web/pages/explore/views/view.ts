/** Properties of the views of all kinds, and the places of annotations on a chart. */
import type { ChartAnnotation } from '../../../api/insights.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import type { ChartMark } from '../../../parts/charts/chart-data.ts'
import { inZone } from '../../../parts/charts/chart-data.ts'
import { readProjectTime } from '../../../parts/format.ts'
import type { ExploreQuery } from '../explore-query.ts'

/** Properties of the view of any kind. */
export type ViewProps<Results> = {
  readonly query: ExploreQuery
  readonly results: Results
  readonly timezone: string
  readonly annotations: readonly ChartAnnotation[]
  readonly onPick: (clicked: ClickedNumber) => void
  readonly onMark: (annotation: ChartAnnotation) => void
}

/** The annotations within the buckets, at the bucket in which their instant lies in the project's zone. */
export function marksOf(
  annotations: readonly ChartAnnotation[],
  days: readonly string[],
  timezone: string,
): readonly ChartMark[] {
  const starts = days.map((day) => readProjectTime(day)?.getTime() ?? 0)
  const [first = 0] = starts
  const last = starts.at(-1) ?? 0
  const length_ms = starts.length > 1 ? last - (starts.at(-2) ?? 0) : 86_400_000
  return annotations.flatMap(({ id, content, date_marker }) => {
    if (date_marker === null) return []
    const at = inZone(new Date(date_marker), timezone).getTime()
    if (at < first || at >= last + length_ms) return []
    const bucket = starts.findLastIndex((start) => start <= at)
    return [{ key: String(id), bucket, text: content ?? '' }]
  })
}
