/** The public link of a board: made, copied, ended. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type Board, type BoardLink, changeBoards, useBoardLink } from '../../api/boards.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Toggle } from '../../parts/fields/choice.tsx'
import { changeErrorText, ErrorNote } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { SERVER_URL } from '../../state/base-path.ts'
import { useProject } from '../../state/project.tsx'
import style from './boards.module.css'

type ShareDialogProps = { readonly board: Board; readonly onClose: () => void }

/** Shows whether the board has a link, and the link. */
export function ShareDialog({ board, onClose }: ShareDialogProps): VNode {
  return (
    <Dialog title="Share with a link" onClose={onClose}>
      <Loaded of={useBoardLink(board.id)}>
        {(link) => <LinkSettings board={board} link={link} />}
      </Loaded>
    </Dialog>
  )
}

type LinkSettingsProps = { readonly board: Board; readonly link: BoardLink }

function LinkSettings({ board, link }: LinkSettingsProps): VNode {
  const { id } = useProject()
  const [error, setError] = useState<unknown>(null)
  const path = `dashboards/${board.id}/sharing/`
  const send = async (...[method, at, body]: ['PATCH' | 'POST', string, object]): Promise<void> => {
    setError(null)
    try {
      await changeBoards(id, method, [at, body])
    } catch (failure) {
      setError(failure)
    }
  }
  const address = `${SERVER_URL}/shared/${link.access_token ?? ''}`
  return (
    <div class={style.form}>
      <p>
        The link shows this board and nothing else, without a login, to read only. It shows what you
        can see yourself.
      </p>
      <Toggle
        label="Anyone with the link can view this board"
        is_on={link.enabled}
        onChange={(enabled) => void send('PATCH', path, { enabled })}
      />
      {link.enabled && (
        <>
          <div class={style.link}>
            <input class="field" readOnly value={address} aria-label="Link" />
            <CopyButton text={address} label="Copy link" is_named />
          </div>
          <p class={style.age}>
            <Button look="quiet" onClick={() => void send('POST', `${path}refresh/`, {})}>
              Replace the link
            </Button>{' '}
            The old link stops working at once.
          </p>
        </>
      )}
      {error !== null && <ErrorNote message={changeErrorText(error)} />}
    </div>
  )
}
