/** The figures at the top: each with its change, and a button that opens its graph. */
import type { VNode } from 'preact'
import type { WebFigureAnswer } from '../../../contract/insights/answers.ts'
import type { AnswerOf, ResultsOf } from '../../api/calls/ask.ts'
import { formatPercent } from '../../parts/format.ts'
import { WEB_METRICS, type WebMetric } from './metrics.ts'
import style from './web.module.css'

type OverviewProps = {
  readonly answer: AnswerOf<ResultsOf<'WebOverviewQuery'>>
  readonly chosen: WebMetric
  readonly onChoose: (metric: WebMetric) => void
}

/** Draws the figures side by side; on a phone two in a row. */
export function Overview({ answer, chosen, onChoose }: OverviewProps): VNode {
  return (
    <div class={style.figures}>
      {WEB_METRICS.map((metric) => {
        const figure = answer.results.find(({ key }) => key === metric.key)
        return (
          <button
            key={metric.key}
            type="button"
            class={style.figure}
            aria-pressed={metric.key === chosen.key}
            onClick={() => onChoose(metric)}
          >
            <span class={style.name}>{metric.title}</span>
            <span class={style.value}>{metric.format(figure?.value ?? null)}</span>
            {figure !== undefined && <Change figure={figure} />}
          </button>
        )
      })}
    </div>
  )
}

/** Larger changes only mean that the value before was near zero. */
const CHANGE_MAX = 9.99
/** Smaller changes are rounded to 0 %. */
const CHANGE_MIN = 0.005

/** The change in percent, with an arrow; green where it is good. */
function Change({ figure }: { readonly figure: WebFigureAnswer }): VNode | null {
  const { value, previous, isIncreaseBad = false } = figure
  if (value === null || previous === null) return null
  if (previous === 0) return <span class={style.change}>{value === 0 ? 'no change' : 'new'}</span>
  const ratio = value / previous - 1
  const is_up = ratio > 0
  const text = ratio > CHANGE_MAX ? `× ${Math.round(ratio + 1)}` : formatPercent(Math.abs(ratio), 0)
  if (Math.abs(ratio) < CHANGE_MIN) return <span class={style.change}>no change</span>
  return (
    <span class={`${style.change} ${is_up === isIncreaseBad ? style.worse : style.better}`}>
      <span aria-hidden="true">{is_up ? '↑' : '↓'}</span>
      <span class="unseen">{is_up ? 'up' : 'down'}</span> {text}
    </span>
  )
}
