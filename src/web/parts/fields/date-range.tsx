/** The range of dates of a page: presets, or two days. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type KeyBinding, useKeys } from '../../state/keys.ts'
import { useParam, useParamsChange } from '../../state/url.ts'
import { Button } from '../button.tsx'
import { formatBack, readProjectTime, utcFormat } from '../format.ts'
import { Icon } from '../icon.tsx'
import { Popover } from '../overlays/popover.tsx'
import style from './date-range.module.css'

/** As queries take it: a date, or relative to now as `-7d`, `dStart`; `all` begins with the first event. */
export type DateRangeValue = { readonly date_from: string; readonly date_to: string | null }

type DatePreset = DateRangeValue & {
  readonly text: string
  /** The letter that chooses it after `d`. */
  readonly key?: string
}

/** DATE_PRESETS: the ranges that are offered. Adding one means adding a line. */
export const DATE_PRESETS: readonly DatePreset[] = [
  { text: 'Today', date_from: 'dStart', date_to: null, key: 't' },
  { text: 'Yesterday', date_from: '-1dStart', date_to: '-1dEnd' },
  { text: 'Last 24 hours', date_from: '-24h', date_to: null },
  { text: 'Last 7 days', date_from: '-7d', date_to: null, key: '7' },
  { text: 'Last 14 days', date_from: '-14d', date_to: null },
  { text: 'Last 30 days', date_from: '-30d', date_to: null, key: '3' },
  { text: 'Last 90 days', date_from: '-90d', date_to: null, key: '9' },
  { text: 'This month', date_from: 'mStart', date_to: null },
  { text: 'Last month', date_from: '-1mStart', date_to: '-1mEnd' },
  { text: 'This year', date_from: 'yStart', date_to: null, key: 'y' },
  { text: 'Last 12 months', date_from: '-12m', date_to: null },
  { text: 'All time', date_from: 'all', date_to: null },
]

/** The range in words: `Last 7 days`, `1 – 14 Nov 2026`. */
function dateRangeText({ date_from, date_to }: DateRangeValue): string {
  const preset = DATE_PRESETS.find((one) => one.date_from === date_from && one.date_to === date_to)
  if (preset !== undefined) return preset.text
  const back = date_to === null ? formatBack(date_from) : null
  if (back !== null) return `Last ${back}`
  const from = readProjectTime(date_from)
  const to = readProjectTime(date_to ?? '')
  const format = utcFormat({ dateStyle: 'medium' })
  if (from !== null && to !== null) return format.formatRange(from, to)
  if (from !== null && date_to === null) return `Since ${format.format(from)}`
  return date_to === null ? date_from : `${date_from} – ${date_to}`
}

/** The last seven days. */
const DEFAULT_FROM = '-7d'

/** The range in the address, `?from=-30d&to=`; the default is left out. */
export function useDateRange(): readonly [DateRangeValue, (range: DateRangeValue) => void] {
  const [date_from] = useParam('from', DEFAULT_FROM)
  const [date_to] = useParam('to')
  const changeAll = useParamsChange()
  const change = (range: DateRangeValue): void => {
    const is_default = range.date_from === DEFAULT_FROM && range.date_to === null
    changeAll({ from: is_default ? null : range.date_from, to: range.date_to })
  }
  return [{ date_from, date_to: date_to === '' ? null : date_to }, change]
}

type DateRangeProps = {
  readonly value: DateRangeValue
  readonly onChange: (range: DateRangeValue) => void
}

/** A button with the range in words; its panel has the presets and a range of own days. A page has one: `d 7` and the like choose. */
export function DateRange({ value, onChange }: DateRangeProps): VNode {
  useKeys(
    DATE_PRESETS.flatMap(({ text, key, date_from, date_to }): readonly KeyBinding[] =>
      key === undefined
        ? []
        : [{ keys: `d ${key}`, text, group: 'Dates', run: () => onChange({ date_from, date_to }) }],
    ),
  )
  return (
    <Popover label="Date range" text={dateRangeText(value)} icon="calendar">
      {(close) => (
        <DatePanel
          value={value}
          onPick={(range) => {
            close()
            onChange(range)
          }}
        />
      )}
    </Popover>
  )
}

type DatePanelProps = {
  readonly value: DateRangeValue
  readonly onPick: (range: DateRangeValue) => void
}

function DatePanel({ value, onPick }: DatePanelProps): VNode {
  const is_chosen = ({ date_from, date_to }: DatePreset): boolean =>
    date_from === value.date_from && date_to === value.date_to
  const has_chosen = DATE_PRESETS.some(is_chosen)
  return (
    <div class={style.panel}>
      <ul class={style.presets}>
        {DATE_PRESETS.map((preset, index) => (
          <li key={preset.text}>
            <button
              type="button"
              aria-pressed={is_chosen(preset)}
              data-autofocus={is_chosen(preset) || (!has_chosen && index === 0) || undefined}
              onClick={() => onPick({ date_from: preset.date_from, date_to: preset.date_to })}
            >
              {preset.text}
              {is_chosen(preset) && <Icon name="check" size={16} />}
            </button>
          </li>
        ))}
      </ul>
      <OwnDays value={value} onPick={onPick} />
    </div>
  )
}

const DAY = /^\d{4}-\d{2}-\d{2}$/

function OwnDays({ value, onPick }: DatePanelProps): VNode {
  const [from, setFrom] = useState(DAY.test(value.date_from) ? value.date_from : '')
  const [to, setTo] = useState(
    value.date_to !== null && DAY.test(value.date_to) ? value.date_to : '',
  )
  const is_wrong = from !== '' && to !== '' && to < from
  return (
    <form
      class={style.own}
      onSubmit={(event) => {
        event.preventDefault()
        onPick({ date_from: from, date_to: to === '' ? null : to })
      }}
    >
      <label>
        From
        <input
          type="date"
          class="field"
          required
          value={from}
          onInput={(event) => setFrom(event.currentTarget.value)}
        />
      </label>
      <label>
        Until
        <input
          type="date"
          class="field"
          value={to}
          min={from}
          aria-invalid={is_wrong}
          onInput={(event) => setTo(event.currentTarget.value)}
        />
      </label>
      {is_wrong && <p role="alert">The range ends before it begins.</p>}
      <Button type="submit" disabled={from === '' || is_wrong}>
        Apply
      </Button>
    </form>
  )
}
