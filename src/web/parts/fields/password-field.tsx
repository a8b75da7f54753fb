/** A password: hidden while it is typed, shown on demand, and known to password managers. */
import type { VNode } from 'preact'
import { useId, useState } from 'preact/hooks'
import fieldStyle from './field.module.css'
import { FieldNote } from './field.tsx'
import style from './password-field.module.css'

type PasswordFieldProps = {
  readonly label?: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly error?: string | null
  /** A new password gets a hint on its rules; password managers offer one. */
  readonly is_new?: boolean
  readonly is_focused?: boolean
}

/** Draws the field with a button that shows the password. */
export function PasswordField(props: PasswordFieldProps): VNode {
  const { label = 'Password', value, onInput, error, is_new = false, is_focused = false } = props
  const id = useId()
  const [is_shown, setShown] = useState(false)
  const hint = is_new ? 'At least 10 characters. Three or four random words are good.' : null
  return (
    <div class={fieldStyle.field}>
      <label for={id}>{label}</label>
      <div class={style.box}>
        <input
          id={id}
          class="field"
          type={is_shown ? 'text' : 'password'}
          name={is_new ? 'new-password' : 'password'}
          autocomplete={is_new ? 'new-password' : 'current-password'}
          autocapitalize="none"
          spellcheck={false}
          maxLength={200}
          required
          value={value}
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- the only thing to do on the page
          autoFocus={is_focused}
          aria-invalid={error ? true : undefined}
          aria-describedby={`${id}-more`}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
        <button
          type="button"
          class={style.show}
          aria-pressed={is_shown}
          aria-label="Show password"
          onClick={() => setShown(!is_shown)}
        >
          {is_shown ? 'Hide' : 'Show'}
        </button>
      </div>
      <FieldNote id={`${id}-more`} error={error} hint={hint} />
    </div>
  )
}
