/** The options of uPlot for one chart: scales, axes, and how each series is drawn. */
import type uPlot from 'uplot'
import { formatCompact } from '../../format.ts'
import {
  type ChartBucket,
  type ChartSeries,
  seriesColour,
  seriesDash,
  stackValues,
} from '../chart-data.ts'
import type { ColourReader } from './colours.ts'

export type PlotLook = 'line' | 'area' | 'bar'

export type PlotInput = {
  readonly buckets: readonly ChartBucket[]
  readonly series: readonly ChartSeries[]
  readonly look: PlotLook
  readonly is_last_incomplete: boolean
  /** The buckets are no times: the first of them is always labelled, in place of the last. */
  readonly is_ranked?: boolean
  readonly formatAxis?: (value: number) => string
}

/** Width and height in px, and the room for names at the right. */
export type PlotSize = { readonly width: number; readonly height: number; readonly right: number }

type PlotHooks = Pick<uPlot.Hooks.Defs, 'setCursor' | 'draw'>

const LABEL_PX = 72
/** Room for a bar from which on it has an edge. */
const EDGED_PX = 6
const FONT = '12px system-ui, sans-serif'

type PlotTools = {
  /** The class itself, which is loaded apart. */
  readonly Plot: typeof uPlot
  readonly colour: ColourReader
  readonly hooks: PlotHooks
}

/** Builds the options and the data, which belong together: each series is drawn whole and dashed after its last whole bucket. */
export function plotOf(
  input: PlotInput,
  { width, height, right }: PlotSize,
  { Plot, colour, hooks }: PlotTools,
): { readonly options: uPlot.Options; readonly data: uPlot.AlignedData } {
  const count = input.buckets.length
  // An edge would cover bars that are hardly wider than it.
  const edge_px = width / count < EDGED_PX ? 0 : 1
  const drawn = drawnSeries(input, colour, { paths: Plot.paths, edge_px })
  const margin = input.look === 'bar' || count === 1 ? 0.5 : 0
  const options: uPlot.Options = {
    width,
    height,
    padding: [12, right, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: input.look !== 'bar' } },
    scales: {
      x: { time: false, range: [-margin, count - 1 + margin] },
      y: { range: (_, low, high) => valueRange(low, high) },
    },
    axes: axesOf(input, width, colour),
    series: [{}, ...drawn.map(({ options: one }) => one)],
    hooks: { setCursor: [hooks.setCursor], draw: [hooks.draw] },
  }
  const data = [input.buckets.map((_, index) => index), ...drawn.map(({ values }) => [...values])]
  return { options, data: data as uPlot.AlignedData }
}

type DrawnSeries = {
  readonly options: uPlot.Series
  readonly values: readonly (number | null)[]
}

/** Stacked series are drawn from the outermost to the innermost, each over the one before. */
function drawnSeries(
  { series, look, is_last_incomplete, buckets }: PlotInput,
  colour: ColourReader,
  bars: Pick<Ink, 'paths' | 'edge_px'>,
): readonly DrawnSeries[] {
  const is_stacked = look !== 'line'
  const shown = is_stacked ? series.filter((one) => one.is_previous !== true) : series
  const edges = is_stacked
    ? stackValues(shown.map(({ values }) => values))
    : shown.map(({ values }) => values)
  const page = colour('var(--page)')
  const drawn = shown.flatMap((one, index) => {
    const values = edges[index] ?? []
    const last = is_last_incomplete && one.is_previous !== true ? buckets.length - 1 : null
    const stroke = colour(seriesColour(one.colour))
    if (look === 'bar')
      return barsOf(withoutZeros(one, values), last, {
        ...bars,
        stroke,
        page,
        is_alone: shown.length === 1,
      })
    return linesOf(one, values, last, { stroke, page, is_filled: look === 'area' })
  })
  return is_stacked ? drawn.toReversed() : drawn
}

type Ink = {
  readonly stroke: string
  readonly page: string
  readonly is_filled?: boolean
  /** Only a bar that is no layer of others has round corners. */
  readonly is_alone?: boolean
  readonly paths?: typeof uPlot.paths
  /** Width of the line in the colour of the page between bars and their layers. */
  readonly edge_px?: number
}

/** A layer of height zero would draw its edge over the axis. */
function withoutZeros(
  { values }: ChartSeries,
  edges: readonly (number | null)[],
): readonly (number | null)[] {
  return edges.map((edge, index) => (values[index] === 0 ? null : edge))
}

function linesOf(
  { is_previous = false, colour }: ChartSeries,
  values: readonly (number | null)[],
  last: number | null,
  { stroke, page, is_filled = false }: Ink,
): readonly DrawnSeries[] {
  const line = is_previous ? mix(stroke, page, 0.5) : stroke
  const shared: uPlot.Series = {
    stroke: line,
    width: is_previous ? 1.5 : 2,
    ...(is_filled && { fill: mix(stroke, page, 0.3) }),
  }
  const is_lone = values.length === 1
  const whole: DrawnSeries = {
    values: last === null ? values : values.map((value, index) => (index === last ? null : value)),
    options: {
      ...shared,
      dash: [...(is_previous ? [3, 3] : seriesDash(colour))],
      points: { show: is_lone, size: 8, fill: line },
    },
  }
  if (last === null) return [whole]
  const tail: DrawnSeries = {
    values: values.map((value, index) => (index >= last - 1 ? value : null)),
    options: {
      ...shared,
      ...(is_filled && { fill: mix(stroke, page, 0.15) }),
      dash: [4, 4],
      points: { show: is_lone, size: 8, fill: page },
    },
  }
  return [whole, tail]
}

function barsOf(
  values: readonly (number | null)[],
  last: number | null,
  { stroke, page, paths, edge_px = 1, is_alone = false }: Ink,
): readonly DrawnSeries[] {
  const draw = paths?.bars?.({ size: [0.72, 56], radius: is_alone ? 0.1 : 0 })
  const bar = (shown: readonly (number | null)[], fill: string): DrawnSeries => ({
    values: shown,
    options: {
      stroke: page,
      width: edge_px,
      fill,
      ...(draw && { paths: draw }),
      points: { show: false },
    },
  })
  if (last === null) return [bar(values, stroke)]
  return [
    bar(
      values.map((value, index) => (index === last ? null : value)),
      stroke,
    ),
    bar(
      values.map((value, index) => (index === last ? value : null)),
      mix(stroke, page, 0.45),
    ),
  ]
}

function axesOf(
  { buckets, is_ranked = false, formatAxis = formatCompact, series }: PlotInput,
  width: number,
  colour: ColourReader,
): uPlot.Axis[] {
  const stroke = colour('var(--muted)')
  const grid = { stroke: colour('var(--line-soft)'), width: 1 }
  const step = Math.max(1, Math.ceil((buckets.length * LABEL_PX) / Math.max(width - 60, LABEL_PX)))
  const is_whole = series.every(({ values }) => values.every((one) => Number.isInteger(one ?? 0)))
  return [
    {
      stroke,
      font: FONT,
      grid: { show: false },
      ticks: { show: false },
      size: 28,
      gap: 8,
      // The newest bucket is always labelled.
      splits: () =>
        buckets
          .map((_, index) => index)
          .filter((index) => (is_ranked ? index : buckets.length - 1 - index) % step === 0),
      values: (_, splits) => splits.map((index) => buckets[index]?.short ?? ''),
    },
    {
      stroke,
      font: FONT,
      grid,
      ticks: { show: false },
      gap: 8,
      size: (_, values) => 20 + 7 * Math.max(2, ...(values ?? []).map((text) => text.length)),
      space: 40,
      incrs: is_whole ? WHOLE_STEPS : ALL_STEPS,
      values: (_, splits) => splits.map((value) => formatAxis(value)),
    },
  ]
}

/** 1, 2, 5, 10, 20, …, 5e19: sums of large numbers have an axis too. */
const WHOLE_STEPS = Array.from({ length: 20 }, (_, power) =>
  [1, 2, 5].map((first) => first * 10 ** power),
).flat()
const ALL_STEPS = [
  ...Array.from({ length: 9 }, (_, power) =>
    [1, 2, 5].map((first) => first / 10 ** (9 - power)),
  ).flat(),
  ...WHOLE_STEPS,
]

/** Begins at zero, with room above the highest value and below the lowest. */
function valueRange(low: number | null, high: number | null): [number, number] {
  const top = Math.max(0, high ?? 0)
  const bottom = Math.min(0, low ?? 0)
  if (top === 0 && bottom === 0) return [0, 1]
  const room = (top - bottom) * 0.06
  return [bottom === 0 ? 0 : bottom - room, top === 0 ? 0 : top + room]
}

/** Mixes two `rgb(…)` colours; `share` is that of the first. */
function mix(one: string, other: string, share: number): string {
  const [first, second] = [channels(one), channels(other)]
  const mixed = first.map((value, index) =>
    Math.round(value * share + (second[index] ?? 0) * (1 - share)),
  )
  return `rgb(${mixed.join(' ')})`
}

function channels(colour: string): readonly number[] {
  return (colour.match(/[\d.]+/g) ?? ['0', '0', '0']).slice(0, 3).map(Number)
}

/** The area in which the canvas draws, in CSS px of the chart. */
export type PlotArea = {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  readonly xOf: (bucket: number) => number
  readonly yOf: (value: number) => number
}

/** Reads where a drawn plot draws. */
export function areaOf(plot: uPlot): PlotArea {
  const { left, top, width, height } = plot.bbox
  const ratio = devicePixelRatio
  return {
    left: left / ratio,
    top: top / ratio,
    width: width / ratio,
    height: height / ratio,
    xOf: (bucket) => left / ratio + plot.valToPos(bucket, 'x'),
    yOf: (value) => top / ratio + plot.valToPos(value, 'y'),
  }
}
