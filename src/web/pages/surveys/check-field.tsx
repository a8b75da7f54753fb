/** A labelled box to tick. */
import type { VNode } from 'preact'
import style from './surveys.module.css'

type CheckFieldProps = {
  readonly label: string
  readonly is_on: boolean
  readonly onChange: (is_on: boolean) => void
}

/** Draws the platform's own box, with its label beside it. */
export function CheckField({ label, is_on, onChange }: CheckFieldProps): VNode {
  return (
    <label class={style.check}>
      <input
        type="checkbox"
        checked={is_on}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  )
}
