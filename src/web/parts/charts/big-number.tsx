/** One number, large, and how it compares with the period before. */
import type { VNode } from 'preact'
import { formatNumber, formatPercent } from '../format.ts'
import style from './big-number.module.css'

type BigNumberProps = {
  readonly name: string
  readonly value: number
  readonly before?: number | undefined
  readonly onPick?: () => void
}

/** Draws the number. */
export function BigNumber({ name, value, before, onPick }: BigNumberProps): VNode {
  const change = before === undefined || before === 0 ? null : value / before - 1
  const text = formatNumber(value)
  return (
    <div class={style.box}>
      <button
        type="button"
        disabled={onPick === undefined}
        onClick={onPick}
        class={style.number}
        style={{ '--length': text.length }}
      >
        {text}
      </button>
      <p>{name}</p>
      {before !== undefined && (
        <p class={style.before}>
          {change !== null && (
            <b class={change < 0 ? style.down : style.up}>
              <span aria-hidden="true">{change < 0 ? '↓' : '↑'}</span>
              <span class="unseen">{change < 0 ? 'down' : 'up'}</span>{' '}
              {formatPercent(Math.abs(change))}
            </b>
          )}{' '}
          {formatNumber(before)} in the previous period
        </p>
      )}
    </div>
  )
}
