/** The names of series: at the ends of their lines, or in a row below the chart. */
import type { VNode } from 'preact'
import { type ChartSeries, seriesColour, seriesDash, shortNames } from '../chart-data.ts'
import type { PlotArea, PlotLook } from './plot-options.ts'
import style from './time-chart.module.css'

type EndLabelsProps = {
  readonly area: PlotArea
  readonly series: readonly ChartSeries[]
}

const LINE_PX = 18

/** Writes each name where its line ends; names that would overlap move apart. */
export function EndLabels({ area, series }: EndLabelsProps): VNode {
  const names = shortNames(series.map(({ name }) => name))
  const labels = series
    .flatMap((one, index) => {
      const last = one.values.findLast((value) => value !== null)
      return last === undefined || last === null
        ? []
        : [{ one, name: names[index] ?? one.name, y: area.yOf(last) }]
    })
    .toSorted((one, other) => one.y - other.y)
  const placed = spreadPositions(
    labels.map(({ y }) => y),
    area.top,
    area.top + area.height - LINE_PX / 2,
  )
  return (
    <div class={style.ends} aria-hidden="true">
      {labels.map(({ one, name }, index) => (
        <span
          key={one.key}
          title={one.name}
          class={one.is_previous ? style.before : undefined}
          style={{
            left: area.left + area.width + 10,
            top: placed[index] ?? 0,
            color: seriesColour(one.colour),
          }}
        >
          {one.is_previous ? 'before' : name}
        </span>
      ))}
    </div>
  )
}

/** Moves sorted positions apart by one line, within the chart. */
function spreadPositions(
  positions: readonly number[],
  top: number,
  bottom: number,
): readonly number[] {
  const placed: number[] = []
  for (const y of positions) placed.push(Math.max(y, top, (placed.at(-1) ?? -Infinity) + LINE_PX))
  for (let index = placed.length - 1, limit = bottom; index >= 0; index -= 1) {
    placed[index] = Math.min(placed[index] ?? limit, limit)
    limit = (placed[index] ?? limit) - LINE_PX
  }
  return placed
}

type LegendProps = {
  readonly series: readonly Pick<ChartSeries, 'colour' | 'is_previous' | 'key' | 'name'>[]
  readonly look: PlotLook
}

const LEGEND_MAX = 24

/** Names in a row, each with a sample of its line; nothing for a single series. */
export function Legend({ series, look }: LegendProps): VNode | null {
  if (series.length < 2) return null
  const names = shortNames(series.map(({ name }) => name))
  return (
    <figcaption class={style.legend}>
      {series.slice(0, LEGEND_MAX).map((one, index) => (
        <span key={one.key} title={one.name}>
          <svg width="18" height="10" viewBox="0 0 18 10" aria-hidden="true">
            {look === 'line' ? (
              <line
                x1="0"
                x2="18"
                y1="5"
                y2="5"
                stroke={seriesColour(one.colour)}
                stroke-width="2.5"
                stroke-dasharray={(one.is_previous ? [3, 3] : seriesDash(one.colour)).join(' ')}
              />
            ) : (
              <rect x="4" width="10" height="10" rx="3" fill={seriesColour(one.colour)} />
            )}
          </svg>
          <span>{names[index]}</span>
        </span>
      ))}
      {series.length > LEGEND_MAX && <span>and {series.length - LEGEND_MAX} more</span>}
    </figcaption>
  )
}
