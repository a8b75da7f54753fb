/** A page that edits one thing: the head with Save and Revert, the server's refusal, the form. */
import type { ComponentChildren, VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { ApiError } from '../../api/calls/call.ts'
import { useKeys } from '../../state/keys.ts'
import { Button } from '../button.tsx'
import { isEqual } from '../is-equal.ts'
import { changeErrorText, ErrorNote } from '../notes/error-note.tsx'
import { PageHead } from '../page-head.tsx'
import style from './edited-page.module.css'
import { isFieldError } from './field.tsx'

type EditedPageProps = {
  readonly title: string
  /** The label of the button that creates a new thing; null for a stored one. */
  readonly create: string | null
  readonly is_changed: boolean
  readonly may_edit: boolean
  /** Names of fields that show their own errors, as `fieldError` reads them. */
  readonly fields: readonly string[]
  readonly onSave: () => Promise<void>
  readonly onRevert: () => void
  /** Beside the heading. */
  readonly aside?: ComponentChildren
  readonly menu?: ComponentChildren
  /** Draws the form with the last error, which `fieldError` asks for its field. */
  readonly children: (error: unknown) => ComponentChildren
}

/** Draws the page; `s` saves. */
export function EditedPage(props: EditedPageProps): VNode {
  const { title, create, is_changed, may_edit, fields, onSave, onRevert } = props
  const [error, setError] = useState<unknown>(null)
  const is_saving = useRef(false)
  const save = async (): Promise<void> => {
    // A double click would create two.
    if (is_saving.current) return
    is_saving.current = true
    try {
      await onSave()
      setError(null)
    } catch (failure) {
      setError(failure)
    } finally {
      is_saving.current = false
    }
  }
  const revert = (): void => {
    setError(null)
    onRevert()
    // The buttons vanish, and with them the focus.
    document.getElementById('main')?.focus({ preventScroll: true })
  }
  const is_new = create !== null
  const can_save = may_edit && (is_changed || is_new)
  const run = (): void => {
    if (can_save) void save()
  }
  useKeys([{ keys: 's', text: 'Save', group: 'On this page', run }])
  const is_at_field = isFieldError(error, fields)
  return (
    <>
      <PageHead
        title={title}
        aside={
          <>
            {props.aside}
            {!is_new && is_changed && <span class={style.changed}>Changed</span>}
          </>
        }
      >
        {(is_changed || is_new) && <Button onClick={revert}>{is_new ? 'Cancel' : 'Revert'}</Button>}
        {can_save && (
          <Button look="main" onClick={() => void save()}>
            {create ?? 'Save'}
          </Button>
        )}
        {props.menu}
      </PageHead>
      {error !== null && !is_at_field && (
        <div class={style.refused}>
          <ErrorNote message={changeErrorText(error)} />
        </div>
      )}
      {props.children(error)}
    </>
  )
}

/** Refuses to save over changes that the page has not shown: `stored` is what it began with, `now` what the server has. */
export function requireShown(stored: object, now: object): void {
  if (isEqual(stored, now)) return
  throw new ApiError(
    'It was changed in the meantime. Save replaces those changes, and Revert shows them.',
    { status: 409, code: 'changed', attr: null, retry_after_s: null },
  )
}
