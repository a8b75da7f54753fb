/** A button with a menu of actions and links. */
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation, useRouter } from 'wouter-preact'
import { BASE_PATH } from '../../state/base-path.ts'
import type { ButtonLook } from '../button.tsx'
import { Icon, type IconName } from '../icon.tsx'
import style from './menu.module.css'
import { Popover } from './popover.tsx'

export type MenuItem = {
  readonly text: string
  readonly icon?: IconName
  /** At the right end: a key, a count. */
  readonly hint?: string
  readonly onSelect?: () => void
  /** An address within the project, instead of an action. */
  readonly href?: string
  readonly is_danger?: boolean
  readonly is_disabled?: boolean
  /** Of items of which one is chosen; draws a mark. */
  readonly is_checked?: boolean
}

type MenuProps = {
  readonly label: string
  readonly text?: string
  readonly icon?: IconName
  readonly look?: ButtonLook
  /** Hides the arrow beside the text. */
  readonly is_bare?: boolean
  /** The open page is one of the items. */
  readonly is_current?: boolean
  /** `null` draws a line between groups. */
  readonly items: readonly (MenuItem | null)[]
}

/** Draws the button; the menu follows arrows, Home, End and first letters. */
export function Menu({
  label,
  text,
  icon = text === undefined ? 'more' : undefined,
  look = 'quiet',
  is_bare = false,
  is_current = false,
  items,
}: MenuProps): VNode {
  return (
    <Popover
      label={label}
      role="menu"
      look={look}
      is_bare={is_bare}
      is_current={is_current}
      {...(text !== undefined && { text })}
      {...(icon && { icon })}
    >
      {(close) => <MenuList label={label} items={items} close={close} />}
    </Popover>
  )
}

type MenuListProps = {
  readonly label: string
  readonly items: readonly (MenuItem | null)[]
  readonly close: () => void
}

function MenuList({ label, items, close }: MenuListProps): VNode {
  const list = useRef<HTMLDivElement>(null)
  const move = (pick: (index: number, count: number) => number): void => {
    const all = [
      ...(list.current?.querySelectorAll<HTMLElement>(
        '[role^=menuitem]:not([aria-disabled=true])',
      ) ?? []),
    ]
    const at = all.findIndex((one) => one === document.activeElement)
    all[(pick(at, all.length) + all.length) % all.length]?.focus()
  }
  useLayoutEffect(() => move(() => 0), [])
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = KEYS[event.key]
    if (step !== undefined) {
      event.preventDefault()
      move(step)
    } else if (event.key === 'Tab') {
      close()
    } else if (/^\p{L}$/u.test(event.key) && !event.ctrlKey && !event.metaKey) {
      focusByLetter(list.current, event.key)
    }
  }
  return (
    <div
      ref={list}
      role="menu"
      aria-label={label}
      tabIndex={-1}
      class={style.menu}
      onKeyDown={onKeyDown}
    >
      {items.map((item, index) =>
        item === null ? (
          <hr key={index} class={style.line} />
        ) : (
          <Entry key={item.text} item={item} close={close} />
        ),
      )}
    </div>
  )
}

const KEYS: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowDown: (index) => index + 1,
  ArrowUp: (index, count) => (index < 0 ? count - 1 : index - 1),
  Home: () => 0,
  End: (_, count) => count - 1,
}

function focusByLetter(list: HTMLElement | null, letter: string): void {
  const all = [...(list?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])]
  const at = all.findIndex((one) => one === document.activeElement)
  const begins = (one: HTMLElement): boolean =>
    one.textContent.trim().toLowerCase().startsWith(letter.toLowerCase())
  const next = [...all.slice(at + 1), ...all.slice(0, at + 1)].find(begins)
  next?.focus()
}

function Entry({ item, close }: { readonly item: MenuItem; readonly close: () => void }): VNode {
  const { base } = useRouter()
  const [, navigate] = useLocation()
  const { text, icon, hint, href, is_danger, is_disabled, is_checked, onSelect } = item
  const run = (event: MouseEvent): void => {
    if (is_disabled) return
    // A new tab, as with every link.
    if (href !== undefined && (event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    close()
    onSelect?.()
    if (href !== undefined) navigate(href)
  }
  const shared = {
    role: is_checked === undefined ? ('menuitem' as const) : ('menuitemradio' as const),
    class: `${style.item} ${is_danger ? style.danger : ''}`,
    tabIndex: -1,
    'aria-disabled': is_disabled === true,
    onClick: run,
    ...(is_checked !== undefined && { 'aria-checked': is_checked }),
  }
  const inside = (
    <>
      {icon && <Icon name={icon} />}
      <span class={style.name}>{text}</span>
      {hint && <span class={style.hint}>{hint}</span>}
      {is_checked && <Icon name="check" size={16} />}
    </>
  )
  if (href === undefined)
    return (
      <button type="button" {...shared}>
        {inside}
      </button>
    )
  return (
    <a href={BASE_PATH + (href.startsWith('~') ? href.slice(1) : base + href)} {...shared}>
      {inside}
    </a>
  )
}
