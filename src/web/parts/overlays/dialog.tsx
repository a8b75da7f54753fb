/** Dialogs: a window over the page with a heading, and a question before something is lost. */
import type { ComponentChildren, VNode } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button, IconButton } from '../button.tsx'
import { changeErrorText, ErrorNote } from '../notes/error-note.tsx'
import style from './dialog.module.css'

type DialogProps = {
  readonly title: string
  readonly onClose: () => void
  readonly is_wide?: boolean
  /** Shows no heading and no cross: the title is for screen readers only. */
  readonly is_bare?: boolean
  /** Buttons at the foot, the main one last. */
  readonly foot?: ComponentChildren
  readonly children: ComponentChildren
}

/** Opens when it is drawn; the first field of its form has the focus, also of a form that is drawn later. Escape, the cross and a click outside call `onClose`. The focus is then where it was before. */
export function Dialog({
  title,
  onClose,
  is_wide = false,
  is_bare = false,
  foot,
  children,
}: DialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // A layout effect runs before the next key arrives: what is typed at once reaches the field.
  useLayoutEffect(() => {
    const opened = dialog.current
    opened?.showModal()
    opened?.focus({ preventScroll: true })
    // A browser restores the focus when a dialog is closed, not when it is removed.
    return () => opened?.close()
  }, [])
  const is_placed = useRef(false)
  useLayoutEffect(() => {
    const opened = dialog.current
    // A form may wait for an answer; the reader may have gone to the cross meanwhile.
    if (is_placed.current || document.activeElement !== opened) return
    const first = opened?.querySelector<HTMLElement>('[data-autofocus], [autofocus]')
    const field =
      first ??
      opened?.querySelector<HTMLElement>('form :is(input, select, textarea, [aria-haspopup])')
    field?.focus({ preventScroll: true })
    is_placed.current = Boolean(field)
  })
  const onClick = (event: MouseEvent): void => {
    // The backdrop belongs to the dialog; its content is in elements of its own.
    if (event.target === dialog.current) onClose()
  }
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- Escape does the same
    <dialog
      ref={dialog}
      class={`${style.dialog} ${is_wide ? style.wide : ''}`}
      aria-labelledby={heading}
      tabIndex={-1}
      onClick={onClick}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div class={style.inside}>
        <header class={is_bare ? 'unseen' : style.head}>
          <h2 id={heading}>{title}</h2>
          {!is_bare && <IconButton icon="close" label="Close" onClick={onClose} />}
        </header>
        <div class={`${style.body} ${is_bare ? style.bare : ''}`}>{children}</div>
        {foot && <footer class={style.foot}>{foot}</footer>}
      </div>
    </dialog>
  )
}

type ConfirmDialogProps = {
  readonly title: string
  /** The label of the button: `Delete`. */
  readonly action: string
  readonly children: ComponentChildren
  readonly onConfirm: () => Promise<void> | void
  readonly onClose: () => void
}

/** Asks before something is lost. It closes when `onConfirm` has succeeded, and shows why when it has not. */
export function ConfirmDialog({
  title,
  action,
  children,
  onConfirm,
  onClose,
}: ConfirmDialogProps): VNode {
  const [error, setError] = useState<unknown>(null)
  const [is_running, setRunning] = useState(false)
  const run = async (): Promise<void> => {
    setRunning(true)
    setError(null)
    try {
      await onConfirm()
      onClose()
    } catch (failure) {
      setError(failure)
      setRunning(false)
    }
  }
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="danger" disabled={is_running} onClick={() => void run()}>
        {action}
      </Button>
    </>
  )
  return (
    <Dialog title={title} onClose={onClose} foot={foot}>
      {children}
      {error !== null && <ErrorNote message={changeErrorText(error)} />}
    </Dialog>
  )
}
