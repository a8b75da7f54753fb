/** The tabs of the page: their texts survive everything that happens to the page. */
import { useEffect, useState } from 'preact/hooks'
import { showToast } from '../../parts/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { followStored, readStored, store } from '../../state/store.ts'

export type SqlTab = {
  readonly id: string
  readonly text: string
  /** What was run last; null before. */
  readonly ran: string | null
}

export type SqlTabs = {
  readonly tabs: readonly SqlTab[]
  readonly open: SqlTab
  /** How often another window of this browser has changed the texts. */
  readonly changes_elsewhere: number
  /** Opens a new tab with a text, or the one that has it already. */
  readonly add: (text: string, ran?: string | null) => void
  readonly choose: (id: string) => void
  readonly close: (id: string) => void
  /** Changes the open tab. */
  readonly change: (changed: Partial<Pick<SqlTab, 'ran' | 'text'>>) => void
}

type TabsState = { readonly tabs: readonly SqlTab[]; readonly open_id: string }

const TABS_MAX = 30

/** Over plain http there is no `crypto.randomUUID`. */
const newId = (): string => Math.random().toString(36).slice(2, 10)
const newTab = (text: string, ran: string | null = null): SqlTab => ({ id: newId(), text, ran })

/** The tabs of the current project, as this browser keeps them: all its windows show the same ones. */
export function useTabs(): SqlTabs {
  const { id } = useProject()
  const name = `sql.${id}`
  const [state, setState] = useState<TabsState>(() => readTabs(name))
  const [changes_elsewhere, setChanges] = useState(0)
  useEffect(
    () =>
      followStored(name, () => {
        setState(({ open_id }) => openedAt(readTabs(name), open_id))
        setChanges((count) => count + 1)
      }),
    [name],
  )
  // Stored with the change itself: what came from another window is not written once more.
  const update = (move: (before: TabsState) => TabsState): void =>
    setState((before) => {
      const next = move(before)
      if (!store(name, JSON.stringify(next))) warnOnce()
      return next
    })
  const { tabs, open_id } = state
  const open = tabs.find((tab) => tab.id === open_id) ?? tabs[0] ?? newTab('')
  return {
    tabs,
    open,
    changes_elsewhere,
    add: (text, ran = null) => update((before) => withTab(before, newTab(text, ran))),
    choose: (chosen) => update((before) => ({ ...before, open_id: chosen })),
    close: (closed) => update((before) => withoutTab(before, closed)),
    change: (changed) =>
      update((before) => ({
        ...before,
        tabs: before.tabs.map((tab) => (tab.id === open.id ? { ...tab, ...changed } : tab)),
      })),
  }
}

/** Another window may show another tab. */
function openedAt(state: TabsState, open_id: string): TabsState {
  return state.tabs.some(({ id }) => id === open_id) ? { ...state, open_id } : state
}

let has_warned = false

/** Told once: it does not change while the page is open. */
function warnOnce(): void {
  if (has_warned) return
  has_warned = true
  showToast({
    text: "This browser's storage is full or blocked: what you type lasts until the page is closed.",
    is_lasting: true,
  })
}

/** An untouched empty tab is replaced, the oldest one goes when there are too many. */
function withTab({ tabs, open_id }: TabsState, added: SqlTab): TabsState {
  const same = tabs.find(({ text }) => text === added.text && text !== '')
  if (same !== undefined) return { tabs, open_id: same.id }
  const others = tabs.filter(({ id, text }) => id !== open_id || text.trim() !== '')
  return { tabs: [...others.slice(1 - TABS_MAX), added], open_id: added.id }
}

function withoutTab({ tabs, open_id }: TabsState, closed: string): TabsState {
  const at = tabs.findIndex(({ id }) => id === closed)
  const others = tabs.filter(({ id }) => id !== closed)
  const left = others.length === 0 ? [newTab('')] : others
  const neighbour = left[Math.min(at, left.length - 1)]?.id ?? open_id
  return { tabs: left, open_id: closed === open_id ? neighbour : open_id }
}

function readTabs(name: string): TabsState {
  const empty = newTab('')
  const nothing = { tabs: [empty], open_id: empty.id }
  try {
    const { tabs, open_id } = JSON.parse(readStored(name) ?? '') as Readonly<
      Record<string, unknown>
    >
    const read = Array.isArray(tabs) ? tabs.filter(isTab) : []
    return read.length === 0 ? nothing : { tabs: read, open_id: String(open_id) }
  } catch {
    return nothing
  }
}

function isTab(value: unknown): value is SqlTab {
  if (typeof value !== 'object' || value === null) return false
  const { id, text, ran } = value as Readonly<Record<string, unknown>>
  return (
    typeof id === 'string' && typeof text === 'string' && (ran === null || typeof ran === 'string')
  )
}

const NAME_LENGTH_MAX = 24

/** What a tab is called: its first table, or its first words. */
export function tabName(text: string): string {
  const words = text.trim().replaceAll(/\s+/g, ' ')
  if (words === '') return 'New query'
  const [, table] = /\bfrom ([\w.]{1,40})/i.exec(words) ?? []
  const name = table === undefined ? words : `${table}: ${words.replace(/^select /i, '')}`
  return name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX)}…` : name
}
