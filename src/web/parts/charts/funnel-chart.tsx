/** A funnel: a column per step, or a row on narrow screens; the pale rest of each bar has dropped off. */
import type { VNode } from 'preact'
import { formatDuration, formatNumber, formatPercent } from '../format.ts'
import { seriesColour } from './chart-data.ts'
import style from './funnel-chart.module.css'

/** The counts of one value of a breakdown, or of all. */
export type FunnelColumn = {
  readonly key: string
  readonly name: string
  readonly colour: number
  readonly counts: readonly number[]
}

type FunnelStepText = {
  readonly name: string
  /** Seconds since the step before; null for the first, and without conversions. */
  readonly average_s: number | null
  readonly median_s: number | null
}

/** The actors who reached a step, or those who reached the one before it and no further. */
export type FunnelPart = 'converted' | 'dropped'

type FunnelChartProps = {
  readonly label: string
  readonly steps: readonly FunnelStepText[]
  readonly groups: readonly FunnelColumn[]
  readonly onPick: (step: number, group: FunnelColumn, part: FunnelPart) => void
}

/** Draws the funnel; a click on a number lists its actors. */
export function FunnelChart({ label, steps, groups, onPick }: FunnelChartProps): VNode {
  const total = (step: number): number =>
    groups.reduce((sum, { counts }) => sum + (counts[step] ?? 0), 0)
  return (
    <div class={style.box}>
      <ol class={style.funnel} aria-label={label}>
        {steps.map((step, index) => (
          <li key={index} class={style.step}>
            <div class={style.bars}>
              {groups.map((group) => (
                <StepBar
                  key={group.key}
                  group={group}
                  step={index}
                  name={step.name}
                  is_only={groups.length === 1}
                  onPick={onPick}
                />
              ))}
            </div>
            <p class={style.name} title={step.name}>
              <span>{index + 1}</span>
              {step.name}
            </p>
            <p class={style.figure}>
              <b>{formatNumber(total(index))}</b>
              {index > 0 && <span>{formatPercent(ratio(total(index), total(0)))}</span>}
            </p>
            {index > 0 && (
              <p class={style.detail}>
                {formatPercent(ratio(total(index), total(index - 1)))} of the previous step
                {step.median_s !== null && <>, median {formatDuration(step.median_s)}</>}
              </p>
            )}
          </li>
        ))}
      </ol>
    </div>
  )
}

type StepBarProps = {
  readonly group: FunnelColumn
  readonly step: number
  readonly name: string
  readonly is_only: boolean
  readonly onPick: FunnelChartProps['onPick']
}

function StepBar({ group, step, name, is_only, onPick }: StepBarProps): VNode {
  const first = group.counts[0] ?? 0
  const count = group.counts[step] ?? 0
  const lost = (group.counts[step - 1] ?? count) - count
  const prefix = is_only ? '' : `${group.name}, `
  return (
    <div
      class={style.bar}
      style={{ '--bar': seriesColour(group.colour) }}
      title={is_only ? undefined : group.name}
    >
      {lost > 0 && (
        <button
          type="button"
          class={style.lost}
          style={{ '--from': ratio(count, first) ?? 0, '--to': ratio(count + lost, first) ?? 0 }}
          aria-label={`${prefix}${formatNumber(lost)} dropped off before ${name}: who`}
          title={`${formatNumber(lost)} dropped off (${formatPercent(ratio(lost, count + lost))})`}
          onClick={() => onPick(step, group, 'dropped')}
        />
      )}
      <button
        type="button"
        class={style.fill}
        style={{ '--to': ratio(count, first) ?? 0 }}
        disabled={count === 0}
        aria-label={`${prefix}${formatNumber(count)} reached ${name}${count === 0 ? '' : ': who'}`}
        title={`${prefix}${formatNumber(count)} (${formatPercent(ratio(count, first))})`}
        onClick={() => onPick(step, group, 'converted')}
      />
    </div>
  )
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}
