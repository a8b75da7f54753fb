/** A search field above a list of options, by the ARIA pattern of a combobox: the focus stays in the field, arrows move in the list. */
import type { ComponentChildren, RefObject, VNode } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { SEARCH_LENGTH_MAX } from '../../state/url.ts'
import { Icon, type IconName } from '../icon.tsx'
import style from './combobox.module.css'

export type ComboOption = {
  readonly value: string
  readonly text: string
  /** Below the text or at its end: a raw name, a description, a key. */
  readonly hint?: string
  readonly icon?: IconName
  /** Options of a group follow each other under its name. */
  readonly group?: string
}

type ComboboxProps = {
  /** The label for screen readers: `Event`. */
  readonly label: string
  readonly placeholder?: string
  readonly options: readonly ComboOption[]
  readonly onPick: (option: ComboOption) => void
  /** Values that are chosen already; with `is_multi` each option has a mark. */
  readonly chosen?: readonly string[]
  readonly is_multi?: boolean
  /** Called with every typed text when the options come from the server; otherwise the list filters them itself. */
  readonly onSearch?: (text: string) => void
  /** The options for the typed text are under way. */
  readonly is_loading?: boolean
  /** Offers the typed text itself as a value: `Use "…"`. */
  readonly allows_own?: boolean
  /** Shown when nothing matches. */
  readonly empty?: ComponentChildren
  /** Shown below the list: a part of it is missing, and why. */
  readonly fault?: string
}

/** More are not drawn: the reader types instead of scrolling. */
const SHOWN_MAX = 100

/** Draws the field and the list. It takes the focus when it appears. */
export function Combobox(props: ComboboxProps): VNode {
  const { label, placeholder = 'Search…', chosen = [], onPick, onSearch } = props
  const id = useId()
  const [text, setText] = useState('')
  const { shown, hidden_count } = matching(props, text)
  const first_chosen = shown.findIndex(({ value }) => chosen.includes(value))
  const [picked, setPicked] = useState<number | null>(null)
  const at = Math.min(
    picked ?? (text === '' && first_chosen >= 0 ? first_chosen : 0),
    shown.length - 1,
  )
  const field = useLostFocus()
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = nextIndex(event.key, at, shown.length)
    const option = shown[at]
    if (next !== null) {
      event.preventDefault()
      setPicked(next)
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      if (option !== undefined) onPick(option)
    }
  }
  const onInput = (event: InputEvent & { readonly currentTarget: HTMLInputElement }): void => {
    const { value } = event.currentTarget
    setText(value)
    setPicked(null)
    onSearch?.(value)
  }
  return (
    <div class={style.combobox}>
      <div class={style.search}>
        <Icon name="search" size={16} />
        <input
          ref={field}
          type="text"
          role="combobox"
          aria-label={label}
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
          placeholder={placeholder}
          maxLength={props.allows_own === true ? undefined : SEARCH_LENGTH_MAX}
          value={text}
          autocomplete="off"
          spellcheck={false}
          data-autofocus
          onInput={onInput}
          onKeyDown={onKeyDown}
        />
      </div>
      <Options {...props} id={id} shown={shown} at={at} />
      <Foot {...props} shown_count={shown.length} hidden_count={hidden_count} />
    </div>
  )
}

/** Takes the focus where what had it was replaced by the field; a panel that opens gives it by itself. */
function useLostFocus(): RefObject<HTMLInputElement> {
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (document.activeElement === document.body) field.current?.focus({ preventScroll: true })
  }, [])
  return field
}

type OptionsProps = ComboboxProps & {
  readonly id: string
  readonly shown: readonly ComboOption[]
  /** The index of the option that Enter picks. */
  readonly at: number
}

function Options(props: OptionsProps): VNode {
  const { id, label, shown, at, chosen = [], is_multi = false, is_loading = false, onPick } = props
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.querySelector('[data-active]')?.scrollIntoView({ block: 'nearest' })
  }, [at, shown.length])
  return (
    <div
      ref={list}
      id={`${id}-list`}
      role="listbox"
      aria-label={label}
      aria-multiselectable={is_multi}
      aria-busy={is_loading}
      class={style.list}
      tabIndex={-1}
    >
      {shown.map((option, index) => (
        <Option
          key={`${option.group ?? ''}:${option.value}`}
          id={`${id}-${index}`}
          option={option}
          group={shown[index - 1]?.group === option.group ? undefined : option.group}
          is_active={index === at}
          is_chosen={chosen.includes(option.value)}
          onPick={() => onPick(option)}
        />
      ))}
    </div>
  )
}

type FootProps = ComboboxProps & { readonly shown_count: number; readonly hidden_count: number }

/** The note below the list: nothing matches, or more options match than are drawn. */
function Foot({
  shown_count,
  hidden_count,
  is_loading,
  empty = 'Nothing matches.',
  fault,
}: FootProps): VNode {
  const text =
    shown_count === 0
      ? is_loading
        ? 'Searching…'
        : (fault ?? empty)
      : hidden_count > 0
        ? `${hidden_count} more: type to find them`
        : fault
  return (
    <div class={style.note} role="status">
      {text}
    </div>
  )
}

type OptionProps = {
  readonly id: string
  readonly option: ComboOption
  readonly group: string | undefined
  readonly is_active: boolean
  readonly is_chosen: boolean
  readonly onPick: () => void
}

function Option({ id, option, group, is_active, is_chosen, onPick }: OptionProps): VNode {
  return (
    <>
      {group !== undefined && (
        <div class={style.group} role="presentation">
          {group}
        </div>
      )}
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- keys are the field's */}
      <div
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={is_chosen}
        data-active={is_active || undefined}
        class={style.option}
        title={option.text}
        onMouseDown={(event) => event.preventDefault()}
        onClick={onPick}
      >
        {option.icon && <Icon name={option.icon} size={16} />}
        <span class={style.text}>
          {option.text}
          {option.hint && <small> {option.hint}</small>}
        </span>
        {is_chosen && <Icon name="check" size={16} />}
      </div>
    </>
  )
}

function nextIndex(key: string, at: number, count: number): number | null {
  if (count === 0) return null
  switch (key) {
    case 'ArrowDown':
      return (at + 1) % count
    case 'ArrowUp':
      return (at - 1 + count) % count
    case 'PageDown':
      return Math.min(count - 1, at + 8)
    case 'PageUp':
      return Math.max(0, at - 8)
    default:
      return null
  }
}

type MatchingOptions = { readonly shown: readonly ComboOption[]; readonly hidden_count: number }

/**
 * The options that contain every typed word; those that begin with the text come first, except within groups. Options of
 * the server are filtered too: Enter must not pick from the list before its answer.
 */
function matching({ options, allows_own = false }: ComboboxProps, text: string): MatchingOptions {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = options.filter((option) => hasWords(option, words))
  const is_ranked = words.length > 0 && matches.every(({ group }) => group === undefined)
  const ranked = is_ranked
    ? matches.toSorted((one, other) => rank(one, words) - rank(other, words))
    : matches
  const own = text.trim()
  const has_own = allows_own && own !== '' && !options.some(({ value }) => value === own)
  const all = has_own ? [...ranked, { value: own, text: `Use “${own}”` }] : ranked
  return { shown: all.slice(0, SHOWN_MAX), hidden_count: Math.max(0, all.length - SHOWN_MAX) }
}

function hasWords({ text, hint = '', value }: ComboOption, words: readonly string[]): boolean {
  const all = `${text}\n${hint}\n${value}`.toLowerCase()
  return words.every((word) => all.includes(word))
}

const rank = ({ text }: ComboOption, [first = '']: readonly string[]): number =>
  text.toLowerCase().startsWith(first) ? 0 : 1
