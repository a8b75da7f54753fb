/** What can be done with an answer: link, curl, CSV, picture, a note. */
import type { RefObject, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton, copyText } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Menu, type MenuItem } from '../../parts/menu.tsx'
import { showToast } from '../../parts/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { saveFile } from './files.ts'
import { pictureOf } from './picture.ts'
import type { ExploreQuestion } from './question.ts'
import style from './result.module.css'
import { csvOf } from './view.ts'
import { KIND_VIEWS } from './views.ts'

type ResultMenuProps = {
  readonly question: ExploreQuestion
  /** Missing while there is no answer to this question. */
  readonly results: unknown
  /** What the picture shows. */
  readonly picture: RefObject<HTMLElement>
  readonly onNote: () => void
}

/** Draws the menu. */
export function ResultMenu({ question, results, picture, onNote }: ResultMenuProps): VNode {
  const { id } = useProject()
  const [shown, setShown] = useState<{ readonly title: string; readonly text: string } | null>(null)
  const copy = async (title: string, text: string): Promise<void> => {
    if (await copyText(text)) showToast({ text: `${title} copied` })
    else setShown({ title, text })
  }
  const savePicture = async (): Promise<void> => {
    const { current } = picture
    if (current === null) return
    try {
      saveFile('chart.png', await pictureOf(current))
    } catch {
      showToast({ text: 'This browser cannot make a picture of the chart.' })
    }
  }
  const has_none = results === undefined
  const items: readonly (MenuItem | null)[] = [
    { text: 'Copy link', icon: 'link', onSelect: () => void copy('Link', location.href) },
    {
      text: 'Copy as curl',
      icon: 'sql',
      onSelect: () => void copy('Command', curlOf(id, question)),
    },
    {
      text: 'Download CSV',
      icon: 'download',
      is_disabled: has_none,
      onSelect: () => {
        const table = KIND_VIEWS[question.kind].tableOf(question, results)
        saveFile('chart.csv', new Blob([csvOf(table)], { type: 'text/csv' }))
      },
    },
    {
      text: 'Download PNG',
      icon: 'download',
      is_disabled: has_none,
      onSelect: () => void savePicture(),
    },
    null,
    { text: 'Add a note', icon: 'note', onSelect: onNote },
  ]
  return (
    <>
      <Menu label="More" items={items} />
      {shown !== null && (
        <Dialog title={shown.title} onClose={() => setShown(null)}>
          <pre class={style.code}>{shown.text}</pre>
          <CopyButton text={shown.text} label="Copy" is_named />
        </Dialog>
      )}
    </>
  )
}

/** The question as a command for a shell; the key is left for the reader to fill in. */
export function curlOf(project_id: number, question: ExploreQuestion): string {
  const body = JSON.stringify({ query: question }).replaceAll("'", String.raw`'\''`)
  return [
    `curl ${location.origin}/api/projects/${project_id}/query/ \\`,
    `  -H "Authorization: Bearer $TIDEMARK_API_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${body}'`,
  ].join('\n')
}
