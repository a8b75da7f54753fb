/** All values of one bucket beside the pointer. */
import type { VNode } from 'preact'
import { type ChartBucket, type ChartMark, type ChartSeries, seriesColour } from '../chart-data.ts'
import type { PlotArea } from './plot-options.ts'
import style from './time-chart.module.css'

type TooltipProps = {
  readonly area: PlotArea
  readonly at: number
  readonly series: readonly ChartSeries[]
  readonly marks?: readonly ChartMark[]
  readonly formatValue: (value: number) => string
  readonly is_last_incomplete: boolean
  readonly buckets: readonly ChartBucket[]
  readonly box_width: number
  readonly onPick?: unknown
}

const SHOWN_MAX = 12
/** The width of a chart below which the values lie over it. */
const NARROW_PX = 480

/** The name of a line; of one before its day, and beside several others both. */
function rowText({ name, is_previous, buckets }: ChartSeries, at: number, has_several: boolean) {
  const before = buckets?.[at]
  if (!is_previous || before === undefined) return name
  return has_several ? `${name} (${before.short})` : before.text
}

/** Draws the values, the largest first; those of a period before name their own day. */
export function Tooltip(props: TooltipProps): VNode {
  const { area, at, series, formatValue, box_width } = props
  const x = area.xOf(at)
  const is_right = x > box_width * 0.55
  const present = series.filter((one) => one.values[at] !== null && one.values[at] !== undefined)
  const ranked = present.toSorted((one, other) => (other.values[at] ?? 0) - (one.values[at] ?? 0))
  const has_several = series.filter((one) => !one.is_previous).length > 1
  const marks = props.marks?.filter((mark) => mark.bucket === at) ?? []
  const beside = is_right ? { right: box_width - x + 14 } : { left: x + 14 }
  // Neither side of the pointer has room on a phone: the nearer it is to an edge, the less stands out on that side.
  const over = { left: x, translate: `${(-100 * x) / box_width}%` }
  const side = box_width < NARROW_PX ? over : beside
  return (
    <div class={style.tooltip} style={{ top: area.top + 4, ...side }} aria-hidden="true">
      <p class={style.when}>
        {props.buckets[at]?.text}
        {props.is_last_incomplete && at === props.buckets.length - 1 && <span> · so far</span>}
      </p>
      <ul>
        {ranked.slice(0, SHOWN_MAX).map((one) => (
          <li key={one.key} class={one.is_previous ? style.before : undefined}>
            <i style={{ background: seriesColour(one.colour) }} />
            <span>{rowText(one, at, has_several)}</span>
            <b>{formatValue(one.values[at] ?? 0)}</b>
          </li>
        ))}
      </ul>
      {ranked.length > SHOWN_MAX && <p class={style.more}>and {ranked.length - SHOWN_MAX} more</p>}
      {ranked.length === 0 && <p class={style.more}>No value</p>}
      {marks.map((mark) => (
        <p key={mark.key} class={style.note}>
          {mark.text}
        </p>
      ))}
      {props.onPick !== undefined && ranked.length > 0 && (
        <p class={style.more}>Click: who is behind it</p>
      )}
    </div>
  )
}
