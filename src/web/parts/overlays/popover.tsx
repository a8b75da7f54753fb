/** A button that opens a small panel beside it; a sheet from below on phones. The browser closes it on Escape and outside. */
import type { ComponentChildren, VNode } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useKeys } from '../../state/keys.ts'
import button from '../button.module.css'
import type { ButtonLook } from '../button.tsx'
import { Icon, type IconName } from '../icon.tsx'
import style from './popover.module.css'

type PopoverProps = {
  /** The label of the panel for screen readers; also the button's name when it has no text. */
  readonly label: string
  /** The content of the button. */
  readonly text?: ComponentChildren
  /** The button's name for screen readers, where its content says too little; it contains that. */
  readonly name?: string
  readonly icon?: IconName
  readonly look?: ButtonLook
  /** Hides the arrow. */
  readonly is_bare?: boolean
  readonly role?: 'dialog' | 'menu' | 'listbox'
  readonly is_disabled?: boolean
  /** The open page is one of those in the panel. */
  readonly is_current?: boolean
  /** A key that opens it, and its text in the help. */
  readonly shortcut?: { readonly keys: string; readonly text: string }
  /** Drawn while the panel is open; `close` closes it and gives the focus back to the button. */
  readonly children: (close: () => void) => ComponentChildren
}

/** Draws the button, and the panel while it is open. */
export function Popover(props: PopoverProps): VNode {
  const { label, text, icon, look = 'plain', is_bare = false, role = 'dialog', children } = props
  const id = useId()
  const opener = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const [is_open, setOpen] = useState(false)
  useLayoutEffect(() => {
    // A menu focuses its first item itself.
    if (!is_open || panel.current?.contains(document.activeElement)) return
    const first = panel.current?.querySelector<HTMLElement>('[autofocus], [data-autofocus]')
    ;(first ?? panel.current)?.focus({ preventScroll: true })
  }, [is_open])
  usePopoverKey(props, () => opener.current?.click())
  const close = (): void => {
    panel.current?.hidePopover()
    opener.current?.focus()
  }
  const is_square = text === undefined
  return (
    <>
      <button
        ref={opener}
        type="button"
        class={`${button.button} ${button[look]} ${is_square ? button.square : ''}`}
        aria-label={is_square ? label : props.name}
        title={is_square ? label : undefined}
        aria-haspopup={role}
        aria-expanded={is_open}
        aria-controls={id}
        aria-current={props.is_current === true ? 'page' : undefined}
        disabled={props.is_disabled}
        popovertarget={id}
      >
        {icon && <Icon name={icon} />}
        {text !== undefined && <span class={style.text}>{text}</span>}
        {!is_square && !is_bare && <Icon name="chevron" size={14} />}
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        class={style.panel}
        role={role === 'dialog' ? 'dialog' : undefined}
        aria-label={role === 'dialog' ? label : undefined}
        tabIndex={-1}
        onToggle={(event) => setOpen(event.newState === 'open')}
      >
        {is_open && children(close)}
      </div>
    </>
  )
}

function usePopoverKey({ shortcut, is_disabled }: PopoverProps, run: () => void): void {
  const is_on = shortcut !== undefined && is_disabled !== true
  useKeys(is_on ? [{ ...shortcut, group: 'On this page', run }] : [])
}
