/** Notes on a chart: a line at their bucket, and a button that opens them. */
import type { VNode } from 'preact'
import { Icon } from '../../icon.tsx'
import type { ChartMark } from '../chart-data.ts'
import type { PlotArea } from './plot-options.ts'
import style from './time-chart.module.css'

type ChartMarksProps = {
  readonly area: PlotArea
  readonly marks: readonly ChartMark[]
  readonly onMark?: ((mark: ChartMark) => void) | undefined
}

/** Draws the marks. */
export function ChartMarks({ area, marks, onMark }: ChartMarksProps): VNode {
  return (
    <>
      {marks.map((mark) => (
        <div
          key={mark.key}
          class={style.mark}
          style={{ left: area.xOf(mark.bucket), top: area.top, height: area.height }}
        >
          <button
            type="button"
            title={mark.text}
            aria-label={`Note: ${mark.text}`}
            onClick={() => onMark?.(mark)}
          >
            <Icon name="note" size={12} />
          </button>
        </div>
      ))}
    </>
  )
}
