/** A few choices side by side, of which one holds; and a switch. */
import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import { Icon, type IconName } from '../icon.tsx'
import style from './choice.module.css'

type ChoiceOption<Value extends string> = {
  readonly value: Value
  readonly text: string
  readonly icon?: IconName
}

type ChoiceProps<Value extends string> = {
  /** The label for screen readers: `Show as`. */
  readonly label: string
  readonly options: readonly ChoiceOption<Value>[]
  readonly value: Value
  readonly onChange: (value: Value) => void
  /** Shows icons only. */
  readonly is_small?: boolean
}

/** Radio buttons drawn as one bar; arrows move between them. */
export function Choice<Value extends string>(props: ChoiceProps<Value>): VNode {
  const { label, options, value, onChange, is_small = false } = props
  const name = useId()
  return (
    <fieldset class={style.choice}>
      <legend class="unseen">{label}</legend>
      {options.map((option) => (
        <label key={option.value} title={is_small ? option.text : undefined}>
          <input
            type="radio"
            class="unseen"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.icon && <Icon name={option.icon} size={16} />}
          <span class={is_small ? 'unseen' : undefined}>{option.text}</span>
        </label>
      ))}
    </fieldset>
  )
}

type ToggleProps = {
  readonly label: string
  readonly is_on: boolean
  readonly onChange: (is_on: boolean) => void
  readonly is_disabled?: boolean
  /** Leaves the label to screen readers. */
  readonly is_bare?: boolean
}

/** A switch that applies at once, without a Save button. */
export function Toggle(props: ToggleProps): VNode {
  const { label, is_on, onChange, is_disabled = false, is_bare = false } = props
  return (
    <label class={style.toggle}>
      <input
        type="checkbox"
        role="switch"
        checked={is_on}
        disabled={is_disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span class={is_bare ? 'unseen' : undefined}>{label}</span>
    </label>
  )
}
