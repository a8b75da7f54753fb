/** The series of a query: which events, how they are counted, which of them. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useActions } from '../../../api/actions.ts'
import { useEventNames, useGroupTypes, usePropertyNames } from '../../../api/definitions.ts'
import { Button, IconButton } from '../../../parts/button.tsx'
import type { ComboOption } from '../../../parts/fields/combobox.tsx'
import { Picker } from '../../../parts/fields/picker.tsx'
import { PropertyFilters } from '../../../parts/filters/property-filters.tsx'
import { eventTitle } from '../../../parts/names.ts'
import { type SeriesNode, seriesName } from '../explore-query.ts'
import style from './editor.module.css'
import { mathOptions, mathValue, needsProperty, withMath } from './maths.ts'

type SeriesEditorProps = {
  readonly series: readonly SeriesNode[]
  readonly onChange: (series: readonly SeriesNode[]) => void
  /** Lines of a chart are lettered, steps of a funnel numbered. */
  readonly marks: 'letters' | 'numbers' | 'none'
  readonly has_math?: boolean
  readonly series_max?: number
  /** Label of the button that adds a series. */
  readonly text?: string
}

const SERIES_MAX = 26

/** Draws one row per series. */
export function SeriesEditor(props: SeriesEditorProps): VNode {
  const {
    series,
    onChange,
    marks,
    has_math = false,
    series_max = SERIES_MAX,
    text = 'Series',
  } = props
  const replace = (index: number, changed: readonly SeriesNode[]): void =>
    onChange(series.toSpliced(index, 1, ...changed))
  return (
    <div class={style.series}>
      {series.map((node, index) => (
        <div key={index} class={style.row} role="group" aria-label={roleOf(marks, index)}>
          {marks !== 'none' && <span class={style.letter}>{markOf(marks, index)}</span>}
          <SeriesEventPicker
            label={`Event of ${roleOf(marks, index)}`}
            node={node}
            onChange={(changed) => replace(index, [changed])}
          />
          {has_math && <MathPicker node={node} onChange={(changed) => replace(index, [changed])} />}
          <PropertyFilters
            filters={node.properties ?? []}
            event_names={node.event ? [node.event] : []}
            onChange={(properties) => replace(index, [{ ...node, properties }])}
          />
          {series.length > 1 && (
            <span class={style.remove}>
              <IconButton
                icon="close"
                label={`Remove ${eventTitle(seriesName(node))}`}
                onClick={() => replace(index, [])}
              />
            </span>
          )}
        </div>
      ))}
      {series.length < series_max && (
        <div>
          <Button
            look="quiet"
            icon="plus"
            aria-label={`Add a ${text.toLowerCase()}`}
            onClick={() =>
              onChange([...series, series.at(-1) ?? { kind: 'EventsNode', event: null }])
            }
          >
            {text}
          </Button>
        </div>
      )}
    </div>
  )
}

/** `step 1` of a funnel, `series A` of a chart. */
const roleOf = (marks: SeriesEditorProps['marks'], index: number): string =>
  `${marks === 'numbers' ? 'step' : 'series'} ${markOf(marks, index)}`

const markOf = (marks: SeriesEditorProps['marks'], index: number): string =>
  marks === 'numbers' ? String(index + 1) : String.fromCodePoint(65 + index)

type SeriesNodeProps = {
  readonly node: SeriesNode
  readonly onChange: (node: SeriesNode) => void
  readonly label?: string
}

/** Chooses an event or a saved action. */
export function SeriesEventPicker({ node, onChange, label = 'Event' }: SeriesNodeProps): VNode {
  const [search, setSearch] = useState('')
  const events = useEventNames(search)
  const actions = useActions().data ?? []
  const has = (text: string): boolean => text.toLowerCase().includes(search.trim().toLowerCase())
  const options: readonly ComboOption[] = [
    ...(has('All events') ? [{ value: 'all', text: 'All events' }] : []),
    ...actions
      .filter(({ name }) => has(name ?? ''))
      .map(({ id, name }) => ({
        value: `action:${id}`,
        text: name ?? `Action ${id}`,
        group: 'Actions',
      })),
    ...(events.data?.results ?? []).map(({ name }) => ({
      value: `event:${name}`,
      text: eventTitle(name),
      group: 'Events',
      ...(eventTitle(name) !== name && { hint: name }),
    })),
  ]
  const pick = (value: string): void => {
    const { event: _event, id: _id, name: _name, custom_name: _custom, kind: _kind, ...rest } = node
    if (value.startsWith('action:')) {
      const name = options.find((one) => one.value === value)?.text ?? value
      onChange({ ...rest, kind: 'ActionsNode', id: Number(value.slice('action:'.length)), name })
    } else {
      const event = value === 'all' ? null : value.slice('event:'.length)
      onChange({ ...rest, kind: 'EventsNode', event })
    }
  }
  const title = node.kind === 'ActionsNode' ? seriesName(node) : eventTitle(node.event ?? null)
  const value =
    node.kind === 'ActionsNode'
      ? `action:${node.id}`
      : node.event === null || node.event === undefined
        ? 'all'
        : `event:${node.event}`
  return (
    <Picker
      label={label}
      options={options}
      value={value}
      text={title}
      icon="events"
      is_loading={events.isFetching}
      onSearch={setSearch}
      onChange={pick}
    />
  )
}

function MathPicker({ node, onChange }: SeriesNodeProps): VNode {
  const groups = useGroupTypes().data ?? []
  const properties = usePropertyNames({ owner: 'event' }).data?.results ?? []
  const value = mathValue(node)
  return (
    <>
      <Picker
        label="Counted as"
        options={mathOptions(groups)}
        value={value}
        {...(node.math === 'hogql' && { text: node.math_hogql ?? 'HogQL' })}
        onChange={(math) => onChange(withMath(node, math))}
      />
      {needsProperty(value) && (
        <Picker
          label="Property"
          placeholder="Choose a number…"
          value={node.math_property ?? null}
          options={properties
            .filter(({ property_type }) => property_type === 'Numeric' || property_type === null)
            .map(({ name }) => ({ value: name, text: name }))}
          onChange={(math_property) => onChange({ ...node, math_property })}
        />
      )}
    </>
  )
}
