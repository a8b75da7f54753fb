/** A native list of few choices; views have it too, and a board that draws them needs no editor. */
import type { VNode } from 'preact'
import style from './editor.module.css'

type SelectProps = {
  readonly label: string
  readonly value: string
  readonly options: readonly { readonly value: string; readonly text: string }[]
  readonly onChange: (value: string) => void
}

/** Draws the platform's own select without a visible label. */
export function Select({ label, value, options, onChange }: SelectProps): VNode {
  return (
    <select
      class={`field ${style.select}`}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </select>
  )
}
