/** A row of filters: one chip per condition, and a button that adds one. */
import type { VNode } from 'preact'
import { useCohorts } from '../../api/definitions.ts'
import { useParam } from '../../state/url.ts'
import { IconButton } from '../button.tsx'
import { Popover } from '../overlays/popover.tsx'
import { ConditionEditor } from './condition-editor.tsx'
import { conditionText, type PropertyCondition, readConditions } from './conditions.ts'
import style from './filters.module.css'
import type { OfferedProperties } from './property-list.tsx'

type PropertyFiltersProps = {
  readonly filters: readonly PropertyCondition[]
  readonly onChange: (filters: readonly PropertyCondition[]) => void
  /** The events that are filtered: their properties are offered first. */
  readonly event_names?: readonly string[]
  readonly offered?: OfferedProperties
  /** The label of the button. */
  readonly text?: string
  /** Opens with `/`; for the filters of the whole page, of which there is one. */
  readonly has_key?: boolean
}

const FILTER_KEY = { keys: '/', text: 'Add a filter' }

/** Draws the chips; all conditions must hold. */
export function PropertyFilters(props: PropertyFiltersProps): VNode {
  const { filters, onChange, event_names = [], offered, text = 'Filter', has_key = false } = props
  return (
    <div class={style.filters}>
      {filters.map((filter, index) => (
        <FilterChip
          key={`${filter.type}:${filter.key}:${index}`}
          filter={filter}
          event_names={event_names}
          offered={offered}
          onChange={(changed) => onChange(filters.map((one, at) => (at === index ? changed : one)))}
          onRemove={() => onChange(filters.filter((_, at) => at !== index))}
        />
      ))}
      <Popover
        label="Add a filter"
        text={text}
        icon="filter"
        is_bare
        {...(has_key && { shortcut: FILTER_KEY })}
      >
        {(close) => (
          <ConditionEditor
            condition={null}
            event_names={event_names}
            offered={offered}
            onChange={(added) => onChange([...filters, added])}
            close={close}
          />
        )}
      </Popover>
    </div>
  )
}

type FilterChipProps = {
  readonly filter: PropertyCondition
  readonly event_names: readonly string[]
  readonly offered: OfferedProperties | undefined
  readonly onChange: (filter: PropertyCondition) => void
  readonly onRemove: () => void
}

function FilterChip(props: FilterChipProps): VNode {
  const { filter, event_names, offered, onChange, onRemove } = props
  const cohort_name = useCohortName(filter)
  const text = conditionText(filter, cohort_name)
  return (
    <span class={style.chip}>
      {filter.type === 'hogql' ? (
        <code class={style.expression} title={text}>
          {text}
        </code>
      ) : (
        <Popover label={`Change the filter ${text}`} text={text} is_bare look="quiet">
          {(close) => (
            <ConditionEditor
              condition={filter}
              event_names={event_names}
              offered={offered}
              onChange={onChange}
              close={close}
            />
          )}
        </Popover>
      )}
      <IconButton icon="close" label={`Remove the filter ${text}`} onClick={onRemove} />
    </span>
  )
}

function useCohortName({ type, value }: PropertyCondition): string | undefined {
  const { data } = useCohorts(type === 'cohort')
  return data?.results.find(({ id }) => id === Number(value))?.name
}

/** The filters in the address, `?filters=[…]`. */
export function useFilters(): readonly [
  readonly PropertyCondition[],
  (filters: readonly PropertyCondition[]) => void,
] {
  const [text, setText] = useParam('filters')
  const change = (filters: readonly PropertyCondition[]): void =>
    setText(filters.length === 0 ? '' : JSON.stringify(filters))
  return [readConditions(text), change]
}
