/** The menu of an answer: show its HogQL, open it in SQL, copy code, save it as a file or a picture, share it. */
import type { RefObject, VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { AnyQuery } from '../../api/calls/ask.ts'
import { lazyPage } from '../../lazy-page.tsx'
import { useKeys } from '../../state/keys.ts'
import { useProject } from '../../state/project.tsx'
import { Button } from '../button.tsx'
import { CopyButton, copyText } from '../copy.tsx'
import { Dialog } from '../overlays/dialog.tsx'
import { Menu, type MenuItem } from '../overlays/menu.tsx'
import { showToast } from '../overlays/toast.tsx'
import style from './answer-menu.module.css'
import { type AnswerTable, csvOf } from './answer-table.ts'
import { CURL, queryAddress } from './code-forms.ts'
import { saveFile } from './save-file.ts'

/** Loaded at first use: a page's first load has a limit of bytes. */
const HogqlDialog = lazyPage(() => import('./hogql-dialog.tsx').then((all) => all.HogqlDialog), {
  is_dialog: true,
})

type AnswerMenuProps = {
  /** The name of the answer, for screen readers and saved files. */
  readonly name: string
  readonly query: AnyQuery | null
  /** Missing while there is no answer to this query. */
  readonly hogql?: string | null | undefined
  /** Makes the rows of the CSV; missing while there is no answer. */
  readonly tableOf?: (() => AnswerTable) | undefined
  /** The element that a saved picture shows. */
  readonly picture: RefObject<HTMLElement>
  /** Shows the HogQL by a button of its own, and by the key `q`. */
  readonly has_button?: boolean
  /** Entries of this answer alone, above the others. */
  readonly items?: readonly MenuItem[]
  /** Below the others. */
  readonly items_below?: readonly (MenuItem | null)[]
  /** The menu's name; `More: …` without it. */
  readonly label?: string
  /** The address that "Copy link" copies; the page's without it. */
  readonly link?: string
}

/** Draws the menu and its dialogs. */
export function AnswerMenu(props: AnswerMenuProps): VNode {
  const { name, query, hogql, tableOf, picture, has_button = false } = props
  const { items = [], items_below = [], label = `More: ${name}`, link = location.href } = props
  const { id } = useProject()
  const [text, setText] = useState<ShownText | null>(null)
  const [is_read, setRead] = useState(false)
  const copy = async (title: string, copied: string): Promise<void> => {
    if (await copyText(copied)) showToast({ text: `${title} copied` })
    else setText({ title, text: copied })
  }
  const read = { text: 'HogQL', icon: 'sql', is_disabled: !hogql } as const
  const command = query === null ? null : CURL.write(queryAddress(id), query)
  const all: readonly (MenuItem | null)[] = [
    ...items,
    ...(has_button ? [] : [{ ...read, onSelect: () => setRead(true) }]),
    ...(items.length > 0 || !has_button ? [null] : []),
    { text: 'Copy link', icon: 'link', onSelect: () => void copy('Link', link) },
    {
      text: 'Copy as curl',
      icon: 'copy',
      is_disabled: command === null,
      onSelect: () => void copy('Command', command ?? ''),
    },
    {
      text: 'Download CSV',
      icon: 'download',
      is_disabled: tableOf === undefined,
      onSelect: () => {
        if (tableOf !== undefined) saveFile(`${fileName(name)}.csv`, csvFile(tableOf()))
      },
    },
    {
      text: 'Download PNG',
      icon: 'download',
      is_disabled: tableOf === undefined,
      onSelect: () => void savePicture(`${fileName(name)}.png`, picture.current),
    },
    ...(items_below.length > 0 ? [null, ...items_below] : []),
  ]
  useKeys(
    has_button
      ? [{ keys: 'q', text: 'Show the HogQL', group: 'This chart', run: () => setRead(!!hogql) }]
      : [],
  )
  return (
    <div class={style.tools}>
      {has_button && (
        <Button look="quiet" icon="sql" disabled={!hogql} onClick={() => setRead(true)}>
          HogQL
        </Button>
      )}
      <Menu label={label} items={all} />
      {is_read && hogql && <HogqlDialog hogql={hogql} onClose={() => setRead(false)} />}
      {text !== null && <TextDialog {...text} onClose={() => setText(null)} />}
    </div>
  )
}

type ShownText = { readonly title: string; readonly text: string }

/** Shows a text to copy by hand, when the browser does not let the page copy it. */
function TextDialog({ title, text, onClose }: ShownText & { readonly onClose: () => void }): VNode {
  return (
    <Dialog title={title} onClose={onClose}>
      <pre class={style.code}>{text}</pre>
      <CopyButton text={text} label="Copy" is_named />
    </Dialog>
  )
}

const csvFile = (table: AnswerTable): Blob => new Blob([csvOf(table)], { type: 'text/csv' })

/** `Page views` → `page-views`. */
const fileName = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')

async function savePicture(name: string, element: HTMLElement | null): Promise<void> {
  if (element === null) return
  try {
    // Loaded when it is asked for: pages with charts have little room.
    const { pictureOf } = await import('./picture.ts')
    saveFile(name, await pictureOf(element))
  } catch {
    showToast({ text: 'The picture of the chart could not be made.' })
  }
}
