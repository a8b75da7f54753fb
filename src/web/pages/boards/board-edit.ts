/** Changes of a board. Each is stored at once; a removal offers an undo. */
import { useLocation } from 'wouter-preact'
import {
  addToBoard,
  type Board,
  type BoardTile,
  changeBoards,
  showTiles,
} from '../../api/boards.ts'
import { call } from '../../api/calls/call.ts'
import { errorText } from '../../parts/notes/error-note.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { orderTiles, placeTiles } from './layout.ts'
import { restoreTile } from './restore-tile.ts'

export type BoardEdit = {
  readonly change: (fields: object) => Promise<boolean>
  readonly place: (tiles: readonly BoardTile[]) => void
  readonly remove: (tile: BoardTile) => void
  readonly drop: () => void
}

/** Returns the changes of a board. */
export function useBoardEdit({ id, tiles }: Board): BoardEdit {
  const project = useProject()
  const [, navigate] = useLocation()
  const path = `dashboards/${id}/`
  const send = async (body: object): Promise<boolean> => {
    try {
      await changeBoards(project.id, 'PATCH', [path, body])
      return true
    } catch (error) {
      showToast({ text: errorText(error) })
      return false
    }
  }
  const drop = async (): Promise<void> => {
    // First, since the page of a deleted board would ask for it once more.
    navigate('/boards')
    if (!(await send({ deleted: true }))) return
    showToast({
      text: 'Board deleted',
      action: { text: 'Undo', run: () => void send({ deleted: false }) },
    })
  }
  /** Puts a removed tile back where it was; the server gives it another id. */
  const restore = async (tile: BoardTile): Promise<void> => {
    const { insight, text } = tile
    try {
      if (insight === null) {
        const body = { tiles: [{ text: { body: text?.body } }] }
        await changeBoards(project.id, 'PATCH', [path, body])
      } else {
        await addToBoard(project.id, insight.id, id)
      }
      const now = await call<Board>('GET', `/api/projects/${project.id}/${path}`)
      place(restoreTile(orderTiles(tiles), tile, orderTiles(now.tiles)))
    } catch (error) {
      showToast({ text: errorText(error) })
    }
  }
  const place = (wanted: readonly BoardTile[]): void => {
    const placed = placeTiles(wanted)
    void showTiles(project.id, id, placed)
    void send({ tiles: placed.map(({ id: tile_id, layouts }) => ({ id: tile_id, layouts })) })
  }
  const remove = async (tile: BoardTile): Promise<void> => {
    if (!(await send({ tiles: [{ id: tile.id, deleted: true }] }))) return
    const action = { text: 'Undo', run: () => void restore(tile) }
    showToast({ text: 'Tile removed', action })
  }
  return {
    change: send,
    place,
    remove: (tile) => void remove(tile),
    drop: () => void drop(),
  }
}
