/** A labelled field of a form, with a hint and the error that names it. */
import type { ComponentChildren, JSX, VNode } from 'preact'
import { useId } from 'preact/hooks'
import { ApiError } from '../../api/calls/call.ts'
import style from './field.module.css'

type TextFieldProps = Omit<JSX.InputHTMLAttributes, 'class' | 'label' | 'onInput' | 'value'> & {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly hint?: ComponentChildren
  /** The error message for the value; see `fieldError`. */
  readonly error?: string | null
}

/** A line of text with its label above. */
export function TextField({ label, value, onInput, hint, error, ...rest }: TextFieldProps): VNode {
  const id = useId()
  return (
    <div class={style.field}>
      <label for={id}>{label}</label>
      <input
        type="text"
        {...rest}
        id={id}
        class="field"
        value={value}
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-more`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <FieldNote id={`${id}-more`} error={error} hint={hint} />
    </div>
  )
}

type FieldNoteProps = {
  readonly id: string
  readonly hint?: ComponentChildren
  readonly error?: string | null | undefined
}

/** The line below a field: its error, or else the hint. */
export function FieldNote({ id, hint, error }: FieldNoteProps): VNode {
  return (
    <div id={id} class={style.more} aria-live="polite">
      {error ? <span class={style.error}>{error}</span> : hint}
    </div>
  )
}

/** Whether an error names one of these fields, which then shows it. */
export function isFieldError(error: unknown, fields: readonly string[]): boolean {
  return error instanceof ApiError && fields.includes(error.attr ?? '')
}

/** The server's words about one field: those of an error whose `attr` is the field's name; null for other errors. */
export function fieldError(error: unknown, name: string): string | null {
  return error instanceof ApiError && error.attr === name ? error.message : null
}
