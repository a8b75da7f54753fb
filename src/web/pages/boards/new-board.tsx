/** The dialog that makes a board: an empty one, or one of a template. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import {
  type Board,
  type BoardTemplate,
  changeBoards,
  useBoardTemplates,
} from '../../api/boards.ts'
import { changeErrorText, ErrorNote } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { useProject } from '../../state/project.tsx'
import style from './boards.module.css'

/** Draws the choices. */
export function NewBoard({ onClose }: { readonly onClose: () => void }): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [error, setError] = useState<unknown>(null)
  const is_running = useRef(false)
  const make = async (template: BoardTemplate | null): Promise<void> => {
    // A double click makes one board.
    if (is_running.current) return
    is_running.current = true
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
    is_running.current = false
  }
  return (
    <Dialog title="New board" onClose={onClose}>
      {error !== null && <ErrorNote message={changeErrorText(error)} />}
      <ul class={style.choices}>
        <li>
          <button type="button" onClick={() => void make(null)}>
            <strong>Empty board</strong>
            <span>Add insights one by one.</span>
          </button>
        </li>
      </ul>
      <Loaded of={useBoardTemplates()}>
        {({ results }) => (
          <ul class={style.choices}>
            {results.map((template) => (
              <li key={template.id}>
                <button type="button" onClick={() => void make(template)}>
                  <strong>{template.template_name}</strong>
                  <span>{template.dashboard_description}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Dialog>
  )
}
