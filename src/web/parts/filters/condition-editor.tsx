/** The panel that makes one condition: which property, how it is compared, with which values. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { usePropertyValues } from '../../api/definitions.ts'
import { Button } from '../button.tsx'
import { Choice } from '../fields/choice.tsx'
import { Combobox } from '../fields/combobox.tsx'
import { formatNumber } from '../format.ts'
import { propertyTitle } from '../names.ts'
import {
  type ConditionValue,
  isComplete,
  operatorsOf,
  type PropertyCondition,
  type PropertyOwner,
  valueInputOf,
} from './conditions.ts'
import style from './filters.module.css'
import { type OfferedProperties, PropertyList, usePropertyType } from './property-list.tsx'

type ConditionEditorProps = {
  /** null for a new one. */
  readonly condition: PropertyCondition | null
  readonly event_names: readonly string[]
  readonly offered?: OfferedProperties | undefined
  /** Called once with the finished condition, when the panel closes. */
  readonly onChange: (condition: PropertyCondition) => void
  readonly close: () => void
}

/** Asks for the property first. A complete condition is applied when the panel closes: nothing typed is lost. */
export function ConditionEditor({
  condition,
  event_names,
  offered,
  onChange,
  close,
}: ConditionEditorProps): VNode {
  const [draft, setDraft] = useState(condition)
  const latest = useRef({ draft, onChange })
  latest.current = { draft, onChange }
  useEffect(
    () => () => {
      const { draft: last, onChange: take } = latest.current
      if (last !== null && last !== condition && isComplete(last)) take(last)
    },
    [],
  )
  if (draft === null) {
    const onPick = (picked: PropertyCondition): void => {
      setDraft(picked)
      // A cohort is a whole condition: it has no operator and no value.
      if (picked.type === 'cohort') {
        latest.current.draft = picked
        close()
      }
    }
    return <PropertyList event_names={event_names} onPick={onPick} {...(offered && { offered })} />
  }
  const is_cohort = draft.type === 'cohort'
  return (
    <form
      class={style.editor}
      onSubmit={(event) => {
        event.preventDefault()
        close()
      }}
    >
      <Button look="quiet" icon="back" onClick={() => setDraft(null)}>
        {is_cohort ? 'Cohort' : propertyTitle(draft.key)}
      </Button>
      {is_cohort ? (
        <Choice
          label="Membership"
          options={MEMBERSHIP}
          value={draft.operator === 'not_in' ? 'not_in' : 'in'}
          onChange={(operator) => setDraft({ ...draft, operator })}
        />
      ) : (
        <Comparison condition={draft} onChange={setDraft} />
      )}
      <Button type="submit" look="main" disabled={!isComplete(draft)}>
        Done
      </Button>
    </form>
  )
}

const MEMBERSHIP = [
  { value: 'in', text: 'In the cohort' },
  { value: 'not_in', text: 'Not in the cohort' },
] as const

type ComparisonProps = {
  readonly condition: PropertyCondition
  readonly onChange: (condition: PropertyCondition) => void
}

function Comparison({ condition, onChange }: ComparisonProps): VNode {
  const { operator } = condition
  const type = usePropertyType(condition)
  const offered = operatorsOf(type)
  const is_offered = offered.some(({ name }) => name === operator)
  const input = valueInputOf(operator)
  const changeOperator = (next: string): void => {
    const { value: _, ...rest } = condition
    const keeps_value = valueInputOf(next) === input
    onChange(keeps_value ? { ...condition, operator: next } : { ...rest, operator: next })
  }
  return (
    <>
      <select
        class="field"
        aria-label="Comparison"
        data-autofocus
        value={operator}
        onChange={(event) => changeOperator(event.currentTarget.value)}
      >
        {!is_offered && <option value={operator}>{operator}</option>}
        {offered.map(({ name, text }) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
      {input === 'many' && <ValueList condition={condition} onChange={onChange} />}
      {input !== 'many' && input !== 'none' && (
        <input
          class="field"
          type={input === 'date' ? 'date' : 'text'}
          inputMode={input === 'number' ? 'decimal' : undefined}
          aria-label="Value"
          value={String(condition.value ?? '')}
          onInput={(event) => onChange({ ...condition, value: event.currentTarget.value })}
        />
      )}
    </>
  )
}

/** The property's values with the number of events or persons that have them; own values too. */
function ValueList({ condition, onChange }: ComparisonProps): VNode {
  const [search, setSearch] = useState('')
  const owner = condition.type as PropertyOwner
  const { group_type_index } = condition
  const { data, isFetching } = usePropertyValues(
    { owner, ...(group_type_index !== undefined && { group_type_index }) },
    condition.key,
    search,
  )
  const chosen = listOf(condition.value)
  const counts = (data ?? []).map(({ name, count }) => ({
    value: String(name),
    text: String(name),
    hint: formatNumber(count),
  }))
  const offered = new Set(counts.map(({ value }) => value))
  const others = chosen.filter((one) => search === '' && !offered.has(one))
  const toggle = (value: string): void => {
    const next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]
    onChange({ ...condition, value: next })
  }
  return (
    <Combobox
      label="Values"
      placeholder="Choose or type values"
      options={[...others.map((value) => ({ value, text: value })), ...counts]}
      chosen={chosen}
      is_multi
      allows_own
      is_loading={isFetching}
      empty="Type a value. None was seen in the last days."
      onSearch={setSearch}
      onPick={({ value }) => toggle(value)}
    />
  )
}

const listOf = (value: ConditionValue | undefined): readonly string[] => {
  if (value === undefined || value === null || value === '') return []
  return Array.isArray(value) ? value.map(String) : [String(value)]
}
