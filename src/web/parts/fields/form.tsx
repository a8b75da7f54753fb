/** A form: its fields, the server's refusal beside the field that it names or above the button, and the button. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../button.tsx'
import { changeErrorText, ErrorNote } from '../notes/error-note.tsx'
import { isFieldError } from './field.tsx'
import style from './form.module.css'

type FormProps = {
  /** The label of the button: `Log in`. */
  readonly action: string
  /** Names of fields that show their own errors, as `fieldError` reads them. */
  readonly fields: readonly string[]
  readonly onSubmit: () => Promise<void>
  /** Draws the fields with the last error, which `fieldError` asks for its field. */
  readonly children: (error: unknown) => ComponentChildren
  /** Stands beside the button. */
  readonly foot?: ComponentChildren
  readonly is_disabled?: boolean
  /** The page has another form that matters more. */
  readonly is_minor?: boolean
  /** The button is as wide as the form. */
  readonly is_wide?: boolean
}

/** Draws the form. After a refusal the field that it names has the focus, and everything typed is still there. */
export function Form(props: FormProps): VNode {
  const { action, fields, onSubmit, children, foot, is_disabled = false, is_wide = false } = props
  const form = useRef<HTMLFormElement>(null)
  const [error, setError] = useState<unknown>(null)
  const [is_running, setRunning] = useState(false)
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])
  const submit = async (): Promise<void> => {
    setRunning(true)
    setError(null)
    try {
      await onSubmit()
    } catch (failure) {
      setError(failure)
    }
    setRunning(false)
  }
  const is_at_field = isFieldError(error, fields)
  return (
    <form
      ref={form}
      class={style.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (!is_running && !is_disabled) void submit()
      }}
    >
      {children(error)}
      {error !== null && !is_at_field && <ErrorNote message={changeErrorText(error)} />}
      <div class={is_wide ? style.wide : style.foot}>
        <Button
          type="submit"
          look={props.is_minor ? 'plain' : 'main'}
          disabled={is_disabled}
          aria-busy={is_running}
        >
          {action}
        </Button>
        {foot}
      </div>
    </form>
  )
}
