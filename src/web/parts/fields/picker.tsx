/** A button that shows a chosen value and opens a searchable list of others. */
import type { VNode } from 'preact'
import type { ButtonLook } from '../button.tsx'
import type { IconName } from '../icon.tsx'
import { Popover } from '../overlays/popover.tsx'
import { Combobox, type ComboOption } from './combobox.tsx'

type PickerProps = {
  /** The label, for screen readers and above the list: `Event`. */
  readonly label: string
  readonly options: readonly ComboOption[]
  readonly value: string | null
  readonly onChange: (value: string) => void
  /** Shown while nothing is chosen. */
  readonly placeholder?: string
  /** Shown instead of the chosen option's text. */
  readonly text?: string
  readonly icon?: IconName
  readonly look?: ButtonLook
  readonly onSearch?: (text: string) => void
  readonly is_loading?: boolean
  readonly allows_own?: boolean
}

/** Draws the button; a choice closes the list. */
export function Picker(props: PickerProps): VNode {
  const { label, options, value, onChange, placeholder, icon, look } = props
  const shown =
    props.text ?? options.find((one) => one.value === value)?.text ?? value ?? placeholder ?? label
  return (
    <Popover
      label={label}
      text={shown}
      name={`${label}: ${shown}`}
      {...(icon && { icon })}
      {...(look && { look })}
    >
      {(close) => (
        <Combobox
          label={label}
          options={options}
          chosen={value === null ? [] : [value]}
          {...(props.onSearch && { onSearch: props.onSearch })}
          is_loading={props.is_loading === true}
          allows_own={props.allows_own === true}
          onPick={(option) => {
            close()
            onChange(option.value)
          }}
        />
      )}
    </Popover>
  )
}
