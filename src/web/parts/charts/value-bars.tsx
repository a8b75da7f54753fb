/** Single numbers as horizontal bars, the largest first. */
import type { VNode } from 'preact'
import { formatNumber } from '../format.ts'
import { seriesColour, shortNames } from './chart-data.ts'
import style from './value-bars.module.css'

type ValueBar = {
  readonly key: string
  readonly name: string
  readonly value: number
  readonly colour: number
  /** The same number of the period before. */
  readonly before?: number | undefined
}

type ValueBarsProps = {
  readonly label: string
  readonly bars: readonly ValueBar[]
  readonly onPick: (bar: ValueBar) => void
}

/** Draws a bar per number, all on one scale; those below zero are red. */
export function ValueBars({ label, bars, onPick }: ValueBarsProps): VNode {
  const largest = Math.max(
    0,
    ...bars.map(({ value, before = 0 }) => Math.max(Math.abs(value), before)),
  )
  const names = shortNames(bars.map(({ name }) => name))
  return (
    <ul class={style.bars} aria-label={label}>
      {bars.map((bar, at) => (
        <li key={bar.key}>
          <button type="button" onClick={() => onPick(bar)}>
            <span class={style.name} title={bar.name}>
              {names[at]}
            </span>
            <span class={style.track} aria-hidden="true">
              <i
                style={{
                  width: `${largest === 0 ? 0 : (Math.abs(bar.value) / largest) * 100}%`,
                  background: bar.value < 0 ? 'var(--bad)' : seriesColour(bar.colour),
                }}
              />
              {bar.before !== undefined && largest > 0 && (
                <em style={{ left: `${(bar.before / largest) * 100}%` }} />
              )}
            </span>
            <span class={style.value}>{formatNumber(bar.value)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
