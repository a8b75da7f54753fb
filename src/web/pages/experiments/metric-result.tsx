/** The result of one metric: a row per variant, with its change against the baseline as a bar around zero. */
import type { VNode } from 'preact'
import type { ComparedVariant, MetricAnswer } from '../../api/types/metric-answer.ts'
import edited from '../../parts/fields/edited-page.module.css'
import { SideScroll } from '../../parts/side-scroll.tsx'
import table from '../../parts/table.module.css'
import style from './experiments.module.css'
import {
  chanceText,
  changeOf,
  changeText,
  countText,
  intervalOf,
  levelText,
  pValueText,
  valueText,
  verdictOf,
} from './result-text.ts'

type MetricResultProps = {
  readonly name: string
  readonly answer: MetricAnswer
  /** `decrease` where lower is better. */
  readonly goal: unknown
}

/** Draws the table. */
export function MetricResult({ name, answer, goal }: MetricResultProps): VNode {
  const { method, variant_results } = answer
  const ends = variant_results.flatMap((variant) => intervalOf(variant) ?? [])
  const reach = Math.max(...ends.map(Math.abs), 0)
  const higher = goal === 'decrease' ? 'Chance to be higher' : 'Chance to win'
  return (
    <SideScroll label={`Result of ${name}`}>
      <table class={`${table.table} ${style.figures}`} style={{ '--row': '56px' }}>
        <thead>
          <tr>
            <th scope="col">Variant</th>
            <th scope="col">Value</th>
            <th scope="col" colSpan={2}>
              Change, with its {levelText(method)} interval
            </th>
            <th scope="col" title={method.test ?? undefined}>
              {method.name === 'frequentist' ? 'p-value' : higher}
            </th>
          </tr>
        </thead>
        <tbody>
          {answer.results.map((figures) => {
            const compared = variant_results.find(({ key }) => key === figures.key)
            return (
              <tr key={figures.key}>
                <th scope="row">{figures.key}</th>
                <td>
                  <strong>{valueText(figures)}</strong>
                  <div class={edited.hint}>{countText(figures)}</div>
                </td>
                {compared === undefined ? (
                  <>
                    <td colSpan={2} class={edited.hint}>
                      Baseline
                    </td>
                    <td />
                  </>
                ) : (
                  <Comparison compared={compared} answer={answer} goal={goal} reach={reach} />
                )}
              </tr>
            )
          })}
        </tbody>
      </table>
    </SideScroll>
  )
}

type ComparedCellsProps = Pick<MetricResultProps, 'answer' | 'goal'> & {
  readonly compared: ComparedVariant
  /** The number at the ends of the bars. */
  readonly reach: number
}

/** The cells of a variant that is not the baseline. */
function Comparison({ compared, answer, goal, reach }: ComparedCellsProps): VNode {
  const { difference, name } = answer.method
  const { text, look } = verdictOf(compared, answer, goal)
  const interval = intervalOf(compared)
  if (interval === null) {
    return (
      <td colSpan={3} class={edited.hint}>
        {text}
      </td>
    )
  }
  const [low, high] = interval
  const percentOf = (size: number): string => `${reach === 0 ? 50 : (size / reach) * 50}%`
  return (
    <>
      <td>
        <strong>{changeText(changeOf(interval), difference)}</strong>
        <div class={edited.hint}>
          {changeText(low, difference)} to {changeText(high, difference)}
        </div>
      </td>
      <td>
        <div class={style.bar} aria-hidden="true">
          <i
            class={style[look]}
            style={{ left: percentOf(low + reach), width: percentOf(high - low) }}
          />
        </div>
      </td>
      <td>
        <strong>
          {name === 'frequentist'
            ? pValueText(compared.p_value)
            : chanceText(compared.chance_to_win)}
        </strong>
        <div class={edited[LOOKS[look]]}>{text}</div>
      </td>
    </>
  )
}

const LOOKS = { good: 'on', bad: 'warning', open: 'hint' } as const
