/** The editor of a query: series, filters, breakdowns, and the settings of its kind. */
import type { VNode } from 'preact'
import { Toggle } from '../../../parts/fields/choice.tsx'
import { PropertyFilters } from '../../../parts/filters/property-filters.tsx'
import { BreakdownEditor } from './breakdown-editor.tsx'
import style from './editor.module.css'
import {
  type EditorProps,
  FunnelSettings,
  PathSettings,
  RetentionSettings,
} from './kind-settings.tsx'
import { SeriesEditor } from './series-editor.tsx'

/** Draws the parts that the query's kind has. */
export function Editor({ query, onChange }: EditorProps): VNode {
  const { kind, properties = [], filterTestAccounts = false } = query
  const names = (query.series ?? []).flatMap(({ event }) => (event ? [event] : []))
  const breakdowns_max = BREAKDOWNS_MAX[kind] ?? 0
  return (
    <section class={style.editor} aria-label="Query">
      <KindEditor query={query} onChange={onChange} />
      <hr class={style.rule} />
      <div class={style.lines}>
        <div class={style.line} role="group" aria-label="Filters of all series">
          <span class={style.word}>where</span>
          <PropertyFilters
            has_key
            filters={properties}
            event_names={names}
            onChange={(filters) => onChange({ ...query, properties: filters })}
          />
          <Toggle
            label="Filter out test accounts"
            is_on={filterTestAccounts}
            onChange={(is_on) => onChange({ ...query, filterTestAccounts: is_on })}
          />
        </div>
        {breakdowns_max > 0 && (
          <BreakdownEditor query={query} onChange={onChange} breakdowns_max={breakdowns_max} />
        )}
      </div>
    </section>
  )
}

/** The most properties by which a kind can be broken down. */
const BREAKDOWNS_MAX: Readonly<Record<string, number>> = {
  TrendsQuery: 3,
  FunnelsQuery: 1,
  RetentionQuery: 1,
}

function KindEditor({ query, onChange }: EditorProps): VNode {
  const series = query.series ?? []
  const change = (next: typeof series): void => onChange({ ...query, series: next })
  switch (query.kind) {
    case 'TrendsQuery':
      return (
        <>
          <SeriesEditor series={series} onChange={change} marks="letters" has_math />
          <Formula query={query} onChange={onChange} />
        </>
      )
    case 'FunnelsQuery':
      return (
        <>
          <SeriesEditor series={series} onChange={change} marks="numbers" text="Step" />
          <FunnelSettings query={query} onChange={onChange} />
        </>
      )
    case 'RetentionQuery':
      return <RetentionSettings query={query} onChange={onChange} />
    case 'PathsQuery':
      return <PathSettings query={query} onChange={onChange} />
    case 'LifecycleQuery':
      return <SeriesEditor series={series} onChange={change} marks="none" series_max={1} />
    case 'StickinessQuery':
      return <SeriesEditor series={series} onChange={change} marks="letters" />
  }
}

/** Offered as soon as there are two series to compute with. */
function Formula({ query, onChange }: EditorProps): VNode | null {
  const { series = [], trendsFilter } = query
  const formula = trendsFilter?.formula ?? ''
  if (series.length < 2 && formula === '') return null
  const change = (text: string): void => {
    const { formula: _before, ...rest } = trendsFilter ?? {}
    const next = text.trim() === '' ? rest : { ...rest, formula: text }
    onChange({ ...query, trendsFilter: next }, { is_typing: true })
  }
  return (
    <label class={style.line}>
      <span class={style.word}>ƒ</span>
      <input
        class={`field ${style.formula}`}
        aria-label="Formula"
        placeholder="e.g. A / B * 100"
        spellcheck={false}
        maxLength={500}
        value={formula}
        onChange={(event) => change(event.currentTarget.value)}
      />
    </label>
  )
}
