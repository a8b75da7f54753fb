/** Keyboard shortcuts: single letters and short sequences, active while nothing is being typed. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { readStored, store } from './store.ts'

export type KeyBinding = {
  /** Keys in order, separated by blanks: `g w`, `?`, `mod+k` (⌘ on a Mac, Ctrl elsewhere). */
  readonly keys: string
  /** The description of the key in the help. */
  readonly text: string
  /** The help's heading for it: `Go to`. */
  readonly group: string
  readonly run: () => void
  /** Works while the user types, too; for `mod+…` only. */
  readonly is_global?: boolean
}

/** Time between the keys of a sequence. */
const SEQUENCE_MS = 1200

let bindings: readonly KeyBinding[] = []
let typed_keys: readonly string[] = []
let typed_at_ms = 0

/** Adds shortcuts while the calling component is on the page. */
export function useKeys(own: readonly KeyBinding[]): void {
  const latest = useRef(own)
  latest.current = own
  const names = own.map(({ keys }) => keys).join(',')
  useLayoutEffect(() => {
    const added = own.map((binding, index) => ({
      ...binding,
      run: () => latest.current[index]?.run(),
    }))
    bindings = [...bindings, ...added]
    return () => {
      bindings = bindings.filter((one) => !added.includes(one))
    }
  }, [names])
}

/** All current shortcuts; of two with equal keys the later one counts. */
export function listKeys(): readonly KeyBinding[] {
  return bindings
}

/** Whether single letters do something; speech input may otherwise trigger them by chance. */
export function hasLetterKeys(): boolean {
  return readStored('letter_keys') !== 'off'
}

/** Turns single letters on or off; `mod+k` stays. */
export function setLetterKeys(is_on: boolean): void {
  store('letter_keys', is_on ? null : 'off')
}

/** Listens for keys; once, at the start of the page. */
export function listenForKeys(): void {
  addEventListener('keydown', onKeyDown)
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.altKey) return
  const has_mod = event.ctrlKey || event.metaKey
  if (has_mod) return runBinding(event, `mod+${event.key.toLowerCase()}`)
  if (!hasLetterKeys() || event.key.length !== 1 || isTyping(event.target)) return
  const now = performance.now()
  const before = now - typed_at_ms < SEQUENCE_MS ? typed_keys : []
  typed_keys = [...before, event.key].slice(-2)
  typed_at_ms = now
  runBinding(event, typed_keys.join(' '), event.key)
}

/** Runs the binding of a sequence, or of its last key alone. */
function runBinding(event: KeyboardEvent, ...names: readonly string[]): void {
  for (const name of names) {
    const binding = bindings.findLast(({ keys }) => keys === name)
    if (binding === undefined) continue
    if (!binding.is_global && document.querySelector('dialog[open]') !== null) return
    event.preventDefault()
    typed_keys = []
    binding.run()
    return
  }
}

/** Whether keys go into a field, or choose in a list. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  // Parts with a shadow root (the SQL editor) show themselves as the target.
  if (target.shadowRoot?.activeElement != null || target.isContentEditable) return true
  const is_switch =
    target instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(target.type)
  return (
    !is_switch && target.closest('input, textarea, select, [role=menu], [role=listbox]') !== null
  )
}

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** The keys as the user's keyboard names them: `mod+k` → `⌘K` or `Ctrl K`. */
export function keyNames(keys: string): readonly string[] {
  return keys
    .split(' ')
    .map((key) =>
      key.startsWith('mod+') ? `${IS_MAC ? '⌘' : 'Ctrl '}${key.slice(4).toUpperCase()}` : key,
    )
}
