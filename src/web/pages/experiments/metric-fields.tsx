/** The form of one metric: its kind, its events and how they are counted, what is better. */
import type { VNode } from 'preact'
import { usePropertyNames } from '../../api/definitions.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { EventPicker } from '../../parts/fields/event-picker.tsx'
import { TextField } from '../../parts/fields/field.tsx'
import { Picker } from '../../parts/fields/picker.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { PropertyFilters } from '../../parts/filters/property-filters.tsx'
import { propertyTitle } from '../../parts/names.ts'
import type { ChangeOptions } from '../../state/url.ts'
import {
  type EditedMetric,
  MEASURES,
  METRIC_KINDS,
  type MetricKind,
  type MetricMembers,
  type MetricNode,
  metricText,
  needsProperty,
  nodeTitle,
  withKind,
  withNodes,
} from './metric.ts'

type MetricFieldsProps = {
  readonly metric: MetricMembers
  readonly edited: EditedMetric
  readonly onChange: (metric: MetricMembers, options?: ChangeOptions) => void
}

const GOALS = [
  { value: 'increase', text: 'Higher is better' },
  { value: 'decrease', text: 'Lower is better' },
] as const

/** Draws the form. */
export function MetricFields({ metric, edited, onChange }: MetricFieldsProps): VNode {
  const { name, goal, conversion_window } = metric
  const setWindow = (text: string): void => {
    const days = Number(text)
    onChange(
      {
        ...metric,
        conversion_window: text === '' || days <= 0 ? undefined : days,
        conversion_window_unit: 'day',
      },
      { is_typing: true },
    )
  }
  return (
    <div class={style.column}>
      <SelectField
        label="Kind"
        value={edited.kind}
        options={METRIC_KINDS}
        onChange={(kind) => onChange(withKind(metric, edited, kind as MetricKind))}
      />
      <NodeList metric={metric} edited={edited} onChange={onChange} />
      <div class={style.pair}>
        <TextField
          label="Name"
          value={typeof name === 'string' ? name : ''}
          maxLength={400}
          placeholder={metricText(metric)}
          onInput={(text) => onChange({ ...metric, name: text }, { is_typing: true })}
        />
        <SelectField
          label="Goal"
          value={goal === 'decrease' ? 'decrease' : 'increase'}
          options={GOALS}
          onChange={(value) => onChange({ ...metric, goal: value })}
        />
      </div>
      {hasDays(metric) && (
        <TextField
          label="Days after a person’s first exposure in which it counts"
          type="number"
          min={0}
          step="any"
          placeholder="As long as the experiment runs"
          value={typeof conversion_window === 'number' ? String(conversion_window) : ''}
          onInput={setWindow}
        />
      )}
    </div>
  )
}

/** The same conditions and measure on another event. */
function withEvent(node: MetricNode, event: string | null): MetricNode {
  const { id: _id, name: _name, custom_name: _custom, ...rest } = node
  return { ...rest, kind: 'EventsNode', event }
}

/** A window in other units is left as it is. */
const hasDays = ({ conversion_window, conversion_window_unit: unit }: MetricMembers): boolean =>
  typeof conversion_window !== 'number' || unit === undefined || unit === null || unit === 'day'

const ROLES: Readonly<Record<MetricKind, readonly string[]>> = {
  funnel: [],
  mean: ['Event'],
  ratio: ['Event', 'Over'],
}

/** The events; one place more where there is room for one. */
function NodeList({ metric, edited, onChange }: MetricFieldsProps): VNode {
  const { kind, nodes } = edited
  const put = (at: number, node: MetricNode): void =>
    onChange(withNodes(metric, kind, at < nodes.length ? nodes.with(at, node) : [...nodes, node]))
  // The numerator is chosen before what it is divided by.
  const places = Math.max(nodes.length, kind === 'ratio' ? Math.min(nodes.length + 1, 2) : 1)
  return (
    <>
      <ol class={style.conditions}>
        {Array.from({ length: places }, (_, at) => {
          const role = ROLES[kind][at] ?? `Step ${at + 1}`
          return (
            // oxlint-disable-next-line react/no-array-index-key -- events have no name of their own
            <li key={at}>
              <header>
                <h4>{role}</h4>
                {kind === 'funnel' && nodes.length > 1 && (
                  <IconButton
                    icon="trash"
                    label={`Remove step ${at + 1}`}
                    onClick={() => onChange(withNodes(metric, kind, nodes.toSpliced(at, 1)))}
                  />
                )}
              </header>
              <NodeFields
                role={role}
                node={nodes[at]}
                has_math={kind !== 'funnel'}
                onChange={(node) => put(at, node)}
              />
            </li>
          )
        })}
      </ol>
      {kind === 'funnel' && nodes.length > 0 && (
        <Button
          icon="plus"
          onClick={() => put(nodes.length, { kind: 'EventsNode', event: '$pageview' })}
        >
          Add a step
        </Button>
      )}
    </>
  )
}

type NodeFieldsProps = {
  readonly role: string
  /** Undefined until an event is chosen. */
  readonly node: MetricNode | undefined
  readonly has_math: boolean
  readonly onChange: (node: MetricNode) => void
}

function NodeFields({ role, node, has_math, onChange }: NodeFieldsProps): VNode {
  if (node === undefined) {
    return (
      <div>
        <EventPicker
          label={role}
          value={null}
          has_all={false}
          onChange={(event) => onChange({ kind: 'EventsNode', event })}
        />
      </div>
    )
  }
  const is_action = node.kind === 'ActionsNode'
  return (
    <>
      <div class={style.who}>
        {is_action && <span class={style.fixed}>{nodeTitle(node)}</span>}
        <EventPicker
          label={role}
          value={is_action ? null : (node.event ?? null)}
          has_all={!is_action}
          onChange={(event) => onChange(withEvent(node, event))}
        />
        <PropertyFilters
          filters={node.properties ?? []}
          event_names={node.event ? [node.event] : []}
          onChange={(filters) => onChange({ ...node, properties: filters })}
        />
      </div>
      {has_math && <MeasureFields node={node} onChange={onChange} />}
    </>
  )
}

type MeasureFieldsProps = {
  readonly node: MetricNode
  readonly onChange: (node: MetricNode) => void
}

/** The number that the events of a person make. */
function MeasureFields({ node, onChange }: MeasureFieldsProps): VNode {
  const properties = usePropertyNames({ owner: 'event' }).data?.results ?? []
  const { math = 'total', math_property } = node
  const setMath = (value: string): void => {
    const { math: _math, math_property: _property, ...rest } = node
    onChange({
      ...rest,
      ...(value !== 'total' && { math: value }),
      ...(needsProperty(value) && math_property !== undefined && { math_property }),
    })
  }
  return (
    <div class={style.who}>
      <SelectField label="Counted per person" value={math} options={MEASURES} onChange={setMath} />
      {needsProperty(math) && (
        <Picker
          label="Property"
          placeholder="Choose a number…"
          value={math_property ?? null}
          options={properties
            .filter(({ property_type }) => property_type === 'Numeric' || property_type === null)
            .map(({ name }) => ({ value: name, text: propertyTitle(name) }))}
          onChange={(chosen) => onChange({ ...node, math_property: chosen })}
        />
      )}
    </div>
  )
}
