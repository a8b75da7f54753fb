/** Boards: the list, and one board at `/boards/:id`. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useLocation, useRoute } from 'wouter-preact'
import {
  type Board,
  type BoardListed,
  type BoardTemplate,
  changeBoards,
  useBoards,
  useBoardTemplates,
} from '../../api/boards.ts'
import { Button } from '../../parts/button.tsx'
import { formatAgo } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { ErrorNote, errorText } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useProject } from '../../state/project.tsx'
import { BoardView } from './board.tsx'
import style from './boards.module.css'

/** The page. */
export function BoardsPage(): VNode {
  const [is_board, params] = useRoute('/boards/:id')
  const board_id = Number(params?.id)
  return is_board && Number.isSafeInteger(board_id) ? (
    <BoardView key={board_id} board_id={board_id} />
  ) : (
    <BoardList />
  )
}

function BoardList(): VNode {
  const [is_new, setNew] = useState(false)
  const make = (
    <Button look="main" icon="plus" onClick={() => setNew(true)}>
      New board
    </Button>
  )
  return (
    <>
      <PageHead title="Boards">{make}</PageHead>
      <Loaded
        of={useBoards()}
        isEmpty={({ results }) => results.length === 0}
        empty={
          <EmptyNote title="No board yet" icon="boards">
            <p>A board shows insights side by side, for a team or a screen on the wall.</p>
            {make}
          </EmptyNote>
        }
      >
        {({ results }) => (
          <ul class={style.list}>
            {results.toSorted(byPinAndName).map((board) => (
              <li key={board.id}>
                <Link href={`/boards/${board.id}`}>
                  <Icon name="boards" />
                  <span>
                    <strong>{board.name || 'Board'}</strong>
                    {board.description && <span>{board.description}</span>}
                  </span>
                  <span>{board.pinned ? 'pinned' : formatAgo(board.created_at)}</span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {is_new && <NewBoard onClose={() => setNew(false)} />}
    </>
  )
}

const byPinAndName = (one: BoardListed, other: BoardListed): number =>
  Number(other.pinned) - Number(one.pinned) || (one.name ?? '').localeCompare(other.name ?? '')

/** An empty board, or one of the templates. */
function NewBoard({ onClose }: { readonly onClose: () => void }): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [error, setError] = useState<unknown>(null)
  const make = async (template: BoardTemplate | null): Promise<void> => {
    const body =
      template === null
        ? { name: 'New board' }
        : { name: template.template_name, use_template: template.template_name }
    try {
      const board = await changeBoards<Board>(id, 'POST', ['dashboards/', body])
      onClose()
      navigate(`/boards/${board.id}`)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog title="New board" onClose={onClose}>
      {error !== null && <ErrorNote message={errorText(error)} />}
      <ul class={style.choices}>
        <li>
          <button type="button" onClick={() => void make(null)}>
            <strong>Empty board</strong>
            <span>Add insights one by one.</span>
          </button>
        </li>
        <Loaded of={useBoardTemplates()}>
          {({ results }) =>
            results.map((template) => (
              <li key={template.id}>
                <button type="button" onClick={() => void make(template)}>
                  <strong>{template.template_name}</strong>
                  <span>{template.dashboard_description}</span>
                </button>
              </li>
            ))
          }
        </Loaded>
      </ul>
    </Dialog>
  )
}
