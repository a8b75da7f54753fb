/** A uPlot on the page: drawn again when its data, its size or the theme changes. */
import 'uplot/dist/uPlot.min.css'
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { colourReader, useThemeCount } from './colours.ts'
import { areaOf, type PlotArea, type PlotInput, type PlotSize, plotOf } from './plot-options.ts'

/** Begun with the page and not part of it: it arrives while the query is under way. */
const loading = import('uplot')

/** A drawn plot. */
type DrawnPlot = {
  /** The element that holds the canvas. */
  readonly canvas: RefObject<HTMLDivElement>
  /** Null until it is drawn. */
  readonly area: PlotArea | null
  /** The bucket under the pointer; null when there is none. */
  readonly at: number | null
  /** Moves to a bucket, as by the pointer. */
  readonly go: (bucket: number) => void
  readonly leave: () => void
  /** The distance of an event from the top of the plot, in px. */
  readonly heightOf: (event: MouseEvent) => number
}

/** Draws while the component is on the page; nothing before the width is known. */
export function usePlot(input: PlotInput, size: PlotSize): DrawnPlot {
  const { buckets, series, look, is_last_incomplete } = input
  const { width, height, right } = size
  const canvas = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const [area, setArea] = useState<PlotArea | null>(null)
  const [at, setAt] = useState<number | null>(null)
  const theme_count = useThemeCount()
  useEffect(() => {
    const parent = canvas.current
    if (parent === null || width === 0) return undefined
    const hooks = {
      setCursor: (drawn: uPlot) => setAt(drawn.cursor.idx ?? null),
      draw: (drawn: uPlot) => setArea(areaOf(drawn)),
    }
    const stop = new AbortController()
    const draw = async (): Promise<void> => {
      const { default: Plot } = await loading
      if (stop.signal.aborted) return
      const drawOn = (is_paper: boolean): void => {
        plot.current?.destroy()
        document.documentElement.toggleAttribute('data-paper', is_paper)
        const colour = colourReader(parent)
        const { options, data } = plotOf(input, size, { Plot, colour, hooks })
        plot.current = new Plot(options, data, parent)
      }
      drawOn(false)
      // Styles of a print hold only after this event, and the canvas is printed as it then is.
      addEventListener('beforeprint', () => drawOn(true), stop)
      addEventListener('afterprint', () => drawOn(false), stop)
    }
    void draw()
    return () => {
      stop.abort()
      setAt(null)
      plot.current?.destroy()
      plot.current = null
    }
  }, [width, height, right, theme_count, buckets, series, look, is_last_incomplete])
  return {
    canvas,
    area,
    at: at !== null && at < buckets.length ? at : null,
    go: (bucket) => {
      const next = Math.max(0, Math.min(buckets.length - 1, bucket))
      plot.current?.setCursor({ left: plot.current.valToPos(next, 'x'), top: 0 })
    },
    leave: () => plot.current?.setCursor({ left: -10, top: -10 }),
    heightOf: (event) => event.clientY - (plot.current?.over.getBoundingClientRect().top ?? 0),
  }
}
