/** The tabs of the page: their texts survive everything that happens to the page. */
import { useEffect, useState } from 'preact/hooks'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { followStored, readStored, store } from '../../state/store.ts'
import { isObject } from '../explore/explore-query.ts'
import { type HogQLNode, readNode, type VariableTexts } from './node.ts'

/** The saved insight that a tab was opened from. */
export type SavedSql = { readonly id: number; readonly short_id: string; readonly name: string }

type SqlTab = {
  readonly id: string
  readonly text: string
  readonly values: VariableTexts
  /** The query of the last run; null before the first one. */
  readonly ran: HogQLNode | null
  /** Counts the runs: each computes again. */
  readonly run: number
  readonly saved: SavedSql | null
}

type TabMembers = Partial<Omit<SqlTab, 'id'>>

export type SqlTabs = {
  readonly tabs: readonly SqlTab[]
  readonly open: SqlTab
  /** Counts the changes of the texts by other windows of this browser. */
  readonly changes_elsewhere: number
  /** Opens a new tab, or the one that has the text already. */
  readonly add: (tab: TabMembers) => void
  readonly choose: (id: string) => void
  /** Closes a tab; a message offers to bring it back. */
  readonly close: (id: string) => void
  /** Changes the open tab. */
  readonly change: (changed: TabMembers) => void
}

type TabsState = { readonly tabs: readonly SqlTab[]; readonly open_id: string }

const TABS_MAX = 100

/** Over plain http there is no `crypto.randomUUID`. */
const newId = (): string => Math.random().toString(36).slice(2, 10)

const newTab = (members: TabMembers = {}): SqlTab => ({
  text: '',
  values: {},
  ran: null,
  run: 0,
  saved: null,
  ...members,
  id: newId(),
})

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
  // Stored at the change itself, so that changes from another window are not written again.
  const update = (move: (before: TabsState) => TabsState): void =>
    setState((before) => {
      const next = move(before)
      if (!store(name, JSON.stringify(next))) warnOnce()
      return next
    })
  const { tabs, open_id } = state
  const open = tabs.find((tab) => tab.id === open_id) ?? tabs[0] ?? newTab()
  const add = (members: TabMembers): void => update((before) => withTab(before, members))
  return {
    tabs,
    open,
    changes_elsewhere,
    add,
    choose: (chosen) => update((before) => ({ ...before, open_id: chosen })),
    close: (closed) => {
      const tab = tabs.find((one) => one.id === closed)
      update((before) => withoutTab(before, closed))
      if (tab === undefined || tab.text.trim() === '') return
      const action = { text: 'Undo', run: () => add(tab) }
      showToast({ text: `Closed “${tabName(tab)}”`, action })
    },
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

/** An untouched empty tab is replaced. Beyond the maximum nothing is opened, since something would have to go. */
function withTab(state: TabsState, members: TabMembers): TabsState {
  const { tabs, open_id } = state
  const same = tabs.find(({ text }) => text === members.text && text !== '')
  if (same !== undefined) return { ...state, open_id: same.id }
  const others = tabs.filter(({ id, text }) => id !== open_id || text.trim() !== '')
  if (others.length >= TABS_MAX) {
    showToast({ text: `At most ${TABS_MAX} tabs are open at once: close one first.` })
    return state
  }
  const added = newTab(members)
  return { ...state, tabs: [...others, added], open_id: added.id }
}

function withoutTab({ tabs, open_id }: TabsState, closed: string): TabsState {
  const at = tabs.findIndex(({ id }) => id === closed)
  const others = tabs.filter(({ id }) => id !== closed)
  const left = others.length === 0 ? [newTab()] : others
  const neighbour = left[Math.min(at, left.length - 1)]?.id ?? open_id
  return { tabs: left, open_id: closed === open_id ? neighbour : open_id }
}

function readTabs(name: string): TabsState {
  const empty = newTab()
  const nothing = { tabs: [empty], open_id: empty.id }
  try {
    const value: unknown = JSON.parse(readStored(name) ?? '')
    if (!isObject(value)) return nothing
    const { tabs, open_id } = value
    const read = Array.isArray(tabs) ? tabs.flatMap(readTab) : []
    return read.length === 0 ? nothing : { tabs: read, open_id: String(open_id) }
  } catch {
    return nothing
  }
}

function readTab(value: unknown): readonly SqlTab[] {
  if (!isObject(value) || typeof value['id'] !== 'string' || typeof value['text'] !== 'string') {
    return []
  }
  const { id, text, values, ran, run, saved } = value
  const texts = isObject(values) ? Object.entries(values) : []
  return [
    {
      id,
      text,
      values: Object.fromEntries(texts.map(([name, one]) => [name, String(one)])),
      ran: readNode(ran),
      run: typeof run === 'number' ? run : 0,
      saved: readSaved(saved),
    },
  ]
}

function readSaved(value: unknown): SavedSql | null {
  if (!isObject(value)) return null
  const { id, short_id, name } = value
  const is_right = typeof id === 'number' && typeof short_id === 'string'
  return is_right && typeof name === 'string' ? { id, short_id, name } : null
}

const NAME_LENGTH_MAX = 24

/** The title of a tab: the name of its insight, its first table, or its first words. */
export function tabName({ text, saved }: Pick<SqlTab, 'saved' | 'text'>): string {
  const words = text.trim().replaceAll(/\s+/g, ' ')
  if (saved === null && words === '') return 'New query'
  const [, table] = /\bfrom ([\w.]{1,40})/i.exec(words) ?? []
  const name =
    saved?.name ?? (table === undefined ? words : `${table}: ${words.replace(/^select /i, '')}`)
  return name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX)}…` : name
}
