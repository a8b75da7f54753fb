/** Changes of a saved insight beside its query: its name, the boards that show it, whether it is kept. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { addToBoard, changeBoards, useFoundBoards } from '../../api/boards.ts'
import type { StoredInsight } from '../../api/insights.ts'
import { Combobox } from '../../parts/fields/combobox.tsx'
import { TextField } from '../../parts/fields/field.tsx'
import { changeErrorText, ErrorNote } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { FormDialog } from './board-dialogs.tsx'

type InsightDialogProps = { readonly insight: StoredInsight; readonly onClose: () => void }

/** Asks for another name. */
export function RenameInsight({ insight, onClose }: InsightDialogProps): VNode {
  const { id } = useProject()
  const [name, setName] = useState(insight.name ?? '')
  return (
    <FormDialog
      title="Rename the insight"
      action="Rename"
      onClose={onClose}
      onSubmit={() => changeBoards(id, 'PATCH', [`insights/${insight.id}/`, { name }])}
    >
      <TextField label="Name" value={name} onInput={setName} required maxLength={400} />
    </FormDialog>
  )
}

/** Lists the boards that do not show the insight; a click puts it on one. */
export function AddToBoard({ insight, onClose }: InsightDialogProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [error, setError] = useState<unknown>(null)
  const [search, setSearch] = useState('')
  const boards = useFoundBoards(search)
  const add = async (board_id: number, name: string): Promise<void> => {
    try {
      await addToBoard(id, insight.id, board_id)
      onClose()
      const run = (): void => navigate(`/boards/${board_id}`)
      showToast({ text: `Added to ${name}`, action: { text: 'Open the board', run } })
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog title="Add to a board" onClose={onClose}>
      {error !== null && <ErrorNote message={changeErrorText(error)} />}
      <Loaded of={boards}>
        {({ results }) => (
          <Combobox
            label="Board"
            placeholder="Search boards"
            empty="No other board."
            onSearch={setSearch}
            is_loading={boards.isFetching}
            options={results
              .filter((board) => !insight.dashboards.includes(board.id))
              .map((board) => ({ value: String(board.id), text: board.name || 'Board' }))}
            onPick={({ value, text }) => void add(Number(value), text)}
          />
        )}
      </Loaded>
    </Dialog>
  )
}

/** Deletes an insight, and offers an undo. */
export async function deleteInsight(
  project_id: number,
  { id }: { readonly id: number },
): Promise<void> {
  const send = async (deleted: boolean): Promise<boolean> => {
    try {
      await changeBoards(project_id, 'PATCH', [`insights/${id}/`, { deleted }])
      return true
    } catch (error) {
      showToast({ text: changeErrorText(error) })
      return false
    }
  }
  if (!(await send(true))) return
  showToast({
    text: 'Insight deleted',
    action: { text: 'Undo', run: () => void send(false) },
  })
}
