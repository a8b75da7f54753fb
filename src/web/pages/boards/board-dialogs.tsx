/** The dialogs of a board: another insight, a text, its name. */
import type { ComponentChildren, VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import {
  addToBoard,
  type Board,
  type BoardTile,
  changeBoards,
  useFoundInsights,
} from '../../api/boards.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { Combobox } from '../../parts/fields/combobox.tsx'
import { TextField } from '../../parts/fields/field.tsx'
import { formatAgo } from '../../parts/format.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { changeErrorText, ErrorNote } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { useProject } from '../../state/project.tsx'
import style from './boards.module.css'
import { insightName } from './tile.tsx'

type BoardDialogProps = { readonly board: Board; readonly onClose: () => void }

/** Lists saved insights that are not on the board, searched by name; a click adds one. */
export function AddInsight({ board, onClose }: BoardDialogProps): VNode {
  const { id } = useProject()
  const [error, setError] = useState<unknown>(null)
  const [search, setSearch] = useState('')
  const insights = useFoundInsights(search)
  const present = new Set(board.tiles.flatMap(({ insight }) => insight?.id ?? []))
  const add = async (insight_id: number): Promise<void> => {
    try {
      await addToBoard(id, insight_id, board.id)
      onClose()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog title="Add an insight" onClose={onClose}>
      {error !== null && <ErrorNote message={changeErrorText(error)} />}
      <Loaded of={insights}>
        {({ results }) => (
          <Combobox
            label="Insight"
            placeholder="Search insights"
            options={results
              .filter((insight) => !present.has(insight.id))
              .map((insight) => ({
                value: String(insight.id),
                text: insightName(insight),
                hint: formatAgo(insight.last_modified_at),
              }))}
            onSearch={setSearch}
            is_loading={insights.isFetching}
            empty={search === '' ? <NoOther /> : undefined}
            onPick={({ value }) => void add(Number(value))}
          />
        )}
      </Loaded>
    </Dialog>
  )
}

const NoOther = (): VNode => (
  <EmptyNote title="No other saved insights" icon="explore">
    <ButtonLink href="/explore" look="main">
      Create an insight
    </ButtonLink>
  </EmptyNote>
)

type TextDialogProps = BoardDialogProps & {
  /** The tile whose text is changed; null for a new one. */
  readonly tile: BoardTile | null
}

/** Asks for the text of a tile. */
export function TextDialog({ board, tile, onClose }: TextDialogProps): VNode {
  const { id } = useProject()
  const [body, setBody] = useState(tile?.text?.body ?? '')
  const changed = { ...(tile !== null && { id: tile.id }), text: { body } }
  return (
    <FormDialog
      title={tile === null ? 'Add a text' : 'Edit the text'}
      action={tile === null ? 'Add' : 'Save'}
      onClose={onClose}
      onSubmit={() => changeBoards(id, 'PATCH', [`dashboards/${board.id}/`, { tiles: [changed] }])}
    >
      <label class={style.area}>
        Text
        <textarea
          class="field"
          rows={6}
          required
          maxLength={4000}
          value={body}
          onInput={(event) => setBody(event.currentTarget.value)}
        />
      </label>
    </FormDialog>
  )
}

/** Asks for another name. */
export function Rename({ board, onClose }: BoardDialogProps): VNode {
  const { id } = useProject()
  const [name, setName] = useState(board.name ?? '')
  return (
    <FormDialog
      title="Rename the board"
      action="Rename"
      onClose={onClose}
      onSubmit={() => changeBoards(id, 'PATCH', [`dashboards/${board.id}/`, { name }])}
    >
      <TextField label="Name" value={name} onInput={setName} required maxLength={400} />
    </FormDialog>
  )
}

type FormDialogProps = {
  readonly title: string
  readonly action: string
  readonly onClose: () => void
  /** The dialog closes when it succeeds, and shows why when it does not. */
  readonly onSubmit: () => Promise<unknown>
  readonly children: ComponentChildren
}

/** A dialog with one form, which is sent once however often it is submitted. */
export function FormDialog({ title, action, onClose, onSubmit, children }: FormDialogProps): VNode {
  const [error, setError] = useState<unknown>(null)
  const is_running = useRef(false)
  const submit = async (): Promise<void> => {
    if (is_running.current) return
    is_running.current = true
    try {
      await onSubmit()
      onClose()
    } catch (failure) {
      setError(failure)
    }
    is_running.current = false
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class={style.form}
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        {children}
        {error !== null && <ErrorNote message={changeErrorText(error)} />}
        <Button type="submit" look="main">
          {action}
        </Button>
      </form>
    </Dialog>
  )
}
