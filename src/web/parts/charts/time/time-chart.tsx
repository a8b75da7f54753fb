/** A chart over buckets: lines, stacked areas, stacked bars. The canvas is uPlot's; labels, tooltip and marks are HTML. */
import type { VNode } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { formatNumber } from '../../format.ts'
import { type ChartMark, type ChartSeries, LONG_NAME, shortNames } from '../chart-data.ts'
import { UnseenTable } from '../unseen-table.tsx'
import { useWidth } from '../use-width.ts'
import { ChartHeight } from './height.ts'
import { EndLabels, Legend } from './legend.tsx'
import { ChartMarks } from './marks.tsx'
import type { PlotInput } from './plot-options.ts'
import style from './time-chart.module.css'
import { Tooltip } from './tooltip.tsx'
import { usePlot } from './use-plot.ts'

type TimeChartProps = PlotInput & {
  /** The label of the chart for screen readers. */
  readonly label: string
  readonly height?: number
  readonly formatValue?: (value: number) => string
  readonly marks?: readonly ChartMark[]
  readonly onMark?: (mark: ChartMark) => void
  /** Called with a clicked point, also by Enter, to list the actors that it counts. */
  readonly onPick?: (series: ChartSeries, bucket: number) => void
  /** The page has a table of the same numbers beside the chart. */
  readonly has_table?: boolean
}

/** More names than this do not fit beside the lines. */
const END_LABELS_MAX = 8
const END_LABELS_WIDTH_MIN = 620
const END_LABEL_PX = 136

/** Draws the chart. Arrow keys move along the buckets, up and down choose a series, Enter picks it. */
export function TimeChart(props: TimeChartProps): VNode {
  const usual_height = useContext(ChartHeight)
  const { buckets, series, look, height = usual_height, label, formatValue = formatNumber } = props
  const [box, width] = useWidth<HTMLDivElement>()
  const [chosen, setChosen] = useState(0)
  const has_end_labels = look === 'line' && width >= END_LABELS_WIDTH_MIN && fitsAtEnds(series)
  const size = { width, height, right: has_end_labels ? END_LABEL_PX : 28 }
  const { canvas, area, at, go, leave, heightOf } = usePlot(props, size)
  const pick = (one: ChartSeries | undefined): void => {
    if (one !== undefined && at !== null) props.onPick?.(one, at)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = KEYS[event.key]?.(at ?? buckets.length, buckets.length)
    const step = STEPS[event.key]
    if (index !== undefined) go(index)
    else if (step !== undefined) setChosen((chosen + step + series.length) % series.length)
    else if (event.key === 'Enter') pick(series[chosen])
    else if (event.key === 'Escape' && at !== null) leave()
    else return
    event.preventDefault()
  }
  const onClick = (event: MouseEvent): void => {
    if (area === null || at === null) return
    const y = heightOf(event)
    pick(nearestSeries(props, at, (value) => area.yOf(value) - area.top - y))
  }
  const last = Math.max(0, buckets.length - 1)
  return (
    <figure class={style.figure}>
      <div ref={box} class={style.box} style={{ height }}>
        <div
          ref={canvas}
          class={props.onPick ? style.pickable : undefined}
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={last}
          aria-valuenow={at ?? last}
          aria-valuetext={valueText(props, at ?? last, chosen)}
          onKeyDown={onKeyDown}
          onClick={onClick}
        />
        {area !== null && has_end_labels && <EndLabels area={area} series={series} />}
        {area !== null && (
          <ChartMarks area={area} marks={props.marks ?? []} onMark={props.onMark} />
        )}
        {area !== null && at !== null && (
          <Tooltip {...props} area={area} at={at} formatValue={formatValue} box_width={width} />
        )}
      </div>
      {!has_end_labels && <Legend series={series} look={look} />}
      {props.has_table !== true && <UnseenTable {...props} formatValue={formatValue} />}
    </figure>
  )
}

/** Names that would be cut beside the lines are written below the chart, where there is room for them; a single one stays. */
function fitsAtEnds(series: readonly ChartSeries[]): boolean {
  const current = series.filter((one) => one.is_previous !== true)
  const names = shortNames(current.map(({ name }) => name))
  return (
    series.length <= END_LABELS_MAX &&
    (current.length < 2 || names.every((name) => name.length <= LONG_NAME))
  )
}

const KEYS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  PageUp: (at) => at - 10,
  PageDown: (at) => at + 10,
  Home: () => 0,
  End: (_, count) => count - 1,
}

const STEPS: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1 }

/** The values of one bucket, for screen readers. */
function valueText(
  { buckets, series, formatValue = formatNumber }: TimeChartProps,
  at: number,
  chosen: number,
): string {
  const one = series[chosen] ?? series[0]
  const value = one?.values[at]
  if (one === undefined) return 'No data'
  const number = value === null || value === undefined ? 'no value' : formatValue(value)
  return `${buckets[at]?.text ?? ''}: ${one.name} ${number}`
}

/** The series whose drawn point or layer is nearest to the pointer. */
function nearestSeries(
  { series, look }: TimeChartProps,
  at: number,
  distanceOf: (value: number) => number,
): ChartSeries | undefined {
  const shown = look === 'line' ? series : series.filter((one) => one.is_previous !== true)
  const edges = { above: 0, below: 0 }
  const ranked = shown.flatMap((one) => {
    const value = one.values[at]
    if (value === null || value === undefined) return []
    if (look === 'line') return [{ one, distance: Math.abs(distanceOf(value)) }]
    const side = value < 0 ? 'below' : 'above'
    const middle = edges[side] + value / 2
    edges[side] += value
    // Within a layer the distance to its middle is at most half of its height.
    const half = Math.abs(distanceOf(middle) - distanceOf(edges[side]))
    return [{ one, distance: Math.max(0, Math.abs(distanceOf(middle)) - half) }]
  })
  return ranked.toSorted((one, other) => one.distance - other.distance)[0]?.one
}
