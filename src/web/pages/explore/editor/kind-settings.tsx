/** Settings that only funnels, retention and paths have: windows, periods, start and end points. */
import type { VNode } from 'preact'
import { Choice } from '../../../parts/fields/choice.tsx'
import { type ExploreQuery, entityOf, nodeOf } from '../explore-query.ts'
import style from './editor.module.css'
import { Select } from './select.tsx'
import { SeriesEventPicker } from './series-editor.tsx'

export type EditorProps = {
  readonly query: ExploreQuery
  readonly onChange: (query: ExploreQuery, options?: { readonly is_typing?: boolean }) => void
}

const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month'] as const

const FUNNEL_VIEWS = [
  { value: 'steps', text: 'Steps' },
  { value: 'time_to_convert', text: 'Time to convert' },
  { value: 'trends', text: 'Over time' },
] as const

const ORDERS = [
  { value: 'ordered', text: 'in this order' },
  { value: 'strict', text: 'in this order, with no event in between' },
  { value: 'unordered', text: 'in any order' },
] as const

/** Edits a funnel: the order of its steps, the time for all of them, the display. */
export function FunnelSettings({ query, onChange }: EditorProps): VNode {
  const filter = query.funnelsFilter ?? {}
  const set = (fields: object, is_typing = false): void =>
    onChange({ ...query, funnelsFilter: { ...filter, ...fields } }, { is_typing })
  const view = FUNNEL_VIEWS.find(({ value }) => value === filter['funnelVizType'])?.value ?? 'steps'
  return (
    <div class={style.line}>
      <Choice
        label="The funnel shows"
        options={FUNNEL_VIEWS}
        value={view}
        onChange={(value) => set({ funnelVizType: value })}
      />
      <Select
        label="Order of the steps"
        value={textOf(filter['funnelOrderType'], 'ordered')}
        options={ORDERS}
        onChange={(funnelOrderType) => set({ funnelOrderType })}
      />
      <span class={style.phrase}>
        <span class={style.word}>within</span>
        <NumberField
          label="Time for all steps"
          value={Number(filter['funnelWindowInterval'] ?? 14)}
          max={100_000}
          onChange={(funnelWindowInterval) => set({ funnelWindowInterval }, true)}
        />
        <Select
          label="Unit of the time"
          value={textOf(filter['funnelWindowIntervalUnit'], 'day')}
          options={UNITS.map((value) => ({ value, text: `${value}s` }))}
          onChange={(funnelWindowIntervalUnit) => set({ funnelWindowIntervalUnit })}
        />
      </span>
    </div>
  )
}

const PERIODS = ['Hour', 'Day', 'Week', 'Month'] as const

const RETENTION_TYPES = [
  { value: 'retention_first_time', text: 'for the first time' },
  { value: 'retention_recurring', text: 'at all' },
  { value: 'retention_first_ever_occurrence', text: 'for the first time ever' },
] as const

/** Edits a retention query: the event that begins it, the returning event, the periods. */
export function RetentionSettings({ query, onChange }: EditorProps): VNode {
  const filter = query.retentionFilter ?? {}
  const set = (fields: object, is_typing = false): void =>
    onChange({ ...query, retentionFilter: { ...filter, ...fields } }, { is_typing })
  return (
    <>
      <div class={style.line}>
        <span class={style.word}>Persons who did</span>
        <SeriesEventPicker
          label="Start event"
          node={nodeOf(filter['targetEntity'])}
          onChange={(node) => set({ targetEntity: entityOf(node) })}
        />
        <Select
          label="Which occurrence begins"
          value={textOf(filter['retentionType'], 'retention_recurring')}
          options={RETENTION_TYPES}
          onChange={(retentionType) => set({ retentionType })}
        />
      </div>
      <div class={style.line}>
        <span class={style.word}>and came back to do</span>
        <SeriesEventPicker
          label="Return event"
          node={nodeOf(filter['returningEntity'])}
          onChange={(node) => set({ returningEntity: entityOf(node) })}
        />
        <span class={style.word}>in</span>
        <NumberField
          label="Number of periods"
          value={Number(filter['totalIntervals'] ?? Number.NaN)}
          max={31}
          onChange={(totalIntervals) => set({ totalIntervals }, true)}
        />
        <Select
          label="Length of a period"
          value={textOf(filter['period'], 'Day')}
          options={PERIODS.map((value) => ({ value, text: `${value.toLowerCase()}s` }))}
          onChange={(period) => set({ period })}
        />
      </div>
    </>
  )
}

const PATH_TYPES = [
  { value: '$pageview', text: 'Page views' },
  { value: '$screen', text: 'Screens' },
  { value: 'custom_event', text: 'Other events' },
] as const

/** The types of events in the paths: the listed ones, or without a list all types that are not excluded. */
function pathTypes(filter: Readonly<Record<string, unknown>>): readonly unknown[] {
  const { includeEventTypes: listed, excludeEvents: excluded } = filter
  if (Array.isArray(listed) && listed.length > 0) return listed
  const values = PATH_TYPES.map(({ value }) => value)
  return Array.isArray(excluded) ? values.filter((value) => !excluded.includes(value)) : values
}

/** Edits a paths query: the events of the path, its start and end points, its length. */
export function PathSettings({ query, onChange }: EditorProps): VNode {
  const filter = query.pathsFilter ?? {}
  const set = (fields: object, is_typing = false): void =>
    onChange({ ...query, pathsFilter: { ...filter, ...fields } }, { is_typing })
  const types = pathTypes(filter)
  return (
    <>
      <div class={style.line}>
        <span class={style.word}>Paths of</span>
        <div class={style.checks} role="group" aria-label="Events of the paths">
          {PATH_TYPES.map(({ value, text }) => (
            <label key={value}>
              <input
                type="checkbox"
                checked={types.includes(value)}
                // Paths of no event would be paths of all.
                disabled={types.length === 1 && types.includes(value)}
                onChange={(event) => {
                  const rest = types.filter((one) => one !== value)
                  set({ includeEventTypes: event.currentTarget.checked ? [...rest, value] : rest })
                }}
              />
              {text}
            </label>
          ))}
        </div>
      </div>
      <div class={style.line}>
        <TextSetting
          filter={filter}
          name="startPoint"
          label="Start at"
          other="endPoint"
          set={set}
        />
        <TextSetting filter={filter} name="endPoint" label="End at" other="startPoint" set={set} />
        <span class={style.word}>up to</span>
        <NumberField
          label="Steps per path"
          value={Number(filter['stepLimit'] ?? 5)}
          min={2}
          max={20}
          onChange={(stepLimit) => set({ stepLimit }, true)}
        />
        <span class={style.word}>steps</span>
      </div>
    </>
  )
}

type TextSettingProps = {
  readonly filter: Readonly<Record<string, unknown>>
  readonly name: string
  readonly label: string
  /** The setting that this one replaces. */
  readonly other: string
  readonly set: (fields: object, is_typing?: boolean) => void
}

function TextSetting({ filter, name, label, other, set }: TextSettingProps): VNode {
  const value = filter[name]
  return (
    <input
      class={`field ${style.formula}`}
      aria-label={label}
      placeholder={`${label}… /pricing`}
      spellcheck={false}
      value={typeof value === 'string' ? value : ''}
      onChange={(event) => {
        const text = event.currentTarget.value.trim()
        set({ [name]: text === '' ? undefined : text, [other]: undefined }, true)
      }}
    />
  )
}

type NumberFieldProps = {
  readonly label: string
  /** NaN for none. */
  readonly value: number
  readonly min?: number
  readonly max: number
  readonly onChange: (value: number) => void
}

function NumberField({ label, value, min = 1, max, onChange }: NumberFieldProps): VNode {
  return (
    <input
      class={`field ${style.short}`}
      type="number"
      aria-label={label}
      min={min}
      max={max}
      placeholder="all"
      value={Number.isFinite(value) ? value : ''}
      onChange={(event) => {
        const number = Math.round(event.currentTarget.valueAsNumber)
        if (number >= min && number <= max) onChange(number)
      }}
    />
  )
}

/** A setting from an address may be anything. */
const textOf = (value: unknown, fallback: string): string =>
  typeof value === 'string' ? value : fallback
