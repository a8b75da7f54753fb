/** A labelled choice of one among several. */
import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import style from './field.module.css'
import { FieldNote } from './field.tsx'

type SelectFieldProps = {
  readonly label: string
  readonly value: string
  readonly options: readonly { readonly value: string; readonly text: string }[]
  readonly onChange: (value: string) => void
  readonly hint?: string
  readonly error?: string | null
}

/** Draws the platform's own select with its label above. */
export function SelectField(props: SelectFieldProps): VNode {
  const { label, value, options, onChange, hint, error } = props
  const id = useId()
  return (
    <div class={style.field}>
      <label for={id}>{label}</label>
      <select
        id={id}
        class="field"
        value={value}
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-more`}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
      <FieldNote id={`${id}-more`} error={error} hint={hint} />
    </div>
  )
}
