/** One board: its tiles, a range for all of them, and what can be done with it. */
import { useQueryClient } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { type Board, type BoardTile, changeBoards, useBoard } from '../../api/boards.ts'
import { call } from '../../api/call.ts'
import { Button, ButtonLink, IconButton } from '../../parts/button.tsx'
import { DateRange, useDateRange } from '../../parts/date-range.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import { errorText } from '../../parts/error-note.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { Menu, type MenuItem } from '../../parts/menu.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { showToast } from '../../parts/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { AddInsight, AddText, Rename } from './board-dialogs.tsx'
import style from './boards.module.css'
import { layoutOf, moveTile, orderTiles, placeTiles, resizeTile, WIDTHS } from './layout.ts'
import { Tile } from './tile.tsx'

/** The board of an id. */
export function BoardView({ board_id }: { readonly board_id: number }): VNode {
  return (
    <Loaded of={useBoard(board_id)}>{(board) => <Opened key={board.id} board={board} />}</Loaded>
  )
}

/** `own` in the address: each insight keeps its range. */
const OWN_RANGE = { date_from: 'own', date_to: null }
/** A screen on the wall asks again this often. */
const REFRESH_MS = 300_000

type BoardDialog = 'insight' | 'rename' | 'text'

function Opened({ board }: { readonly board: Board }): VNode {
  const [range, setRange] = useDateRange(OWN_RANGE)
  const [dialog, setDialog] = useState<BoardDialog | null>(null)
  const refresh = useRefresh()
  const edit = useBoardEdit(board)
  const tiles = orderTiles(board.tiles)
  const is_own = range.date_from === 'own'
  return (
    <>
      <PageHead title={board.name || 'Board'}>
        {is_own ? (
          <Button
            look="quiet"
            icon="calendar"
            onClick={() => setRange({ date_from: '-30d', date_to: null })}
          >
            One range for all
          </Button>
        ) : (
          <>
            <DateRange value={range} onChange={setRange} />
            <IconButton
              icon="close"
              label="Give each insight its own range"
              onClick={() => setRange(OWN_RANGE)}
            />
          </>
        )}
        <Button onClick={refresh}>Refresh</Button>
        <Button look="main" icon="plus" onClick={() => setDialog('insight')}>
          Add
        </Button>
        <Menu label="Actions of the board" items={boardActions(board, edit, setDialog)} />
      </PageHead>
      {board.description && <p class={style.about}>{board.description}</p>}
      {tiles.length === 0 ? (
        <EmptyNote title="This board is empty" icon="boards">
          <p>Add an insight that is saved, or ask a new question in Explore and save it.</p>
          <ButtonLink href="/explore">Explore</ButtonLink>
        </EmptyNote>
      ) : (
        <Grid tiles={tiles} range={is_own ? null : range} edit={edit} />
      )}
      {dialog === 'insight' && <AddInsight board={board} onClose={() => setDialog(null)} />}
      {dialog === 'text' && <AddText board={board} onClose={() => setDialog(null)} />}
      {dialog === 'rename' && <Rename board={board} onClose={() => setDialog(null)} />}
    </>
  )
}

type GridProps = {
  readonly tiles: readonly BoardTile[]
  readonly range: Parameters<typeof Tile>[0]['range']
  readonly edit: BoardEdit
}

function Grid({ tiles, range, edit }: GridProps): VNode {
  const dragged = useRef<number | null>(null)
  return (
    <div class={style.grid}>
      {tiles.map((tile, index) => (
        <Tile
          key={tile.id}
          tile={tile}
          range={range}
          actions={tileActions(tile, { tiles, index, edit })}
          onDragStart={() => {
            dragged.current = tile.id
          }}
          onDrop={() => {
            if (dragged.current !== null && dragged.current !== tile.id)
              edit.place(moveTile(tiles, dragged.current, index))
          }}
        />
      ))}
    </div>
  )
}

type TilePlace = {
  readonly tiles: readonly BoardTile[]
  readonly index: number
  readonly edit: BoardEdit
}

function tileActions(
  tile: BoardTile,
  { tiles, index, edit }: TilePlace,
): readonly (MenuItem | null)[] {
  const { w } = layoutOf(tile)
  return [
    ...(tile.insight === null
      ? []
      : [{ text: 'Open', icon: 'explore' as const, href: `/insights/${tile.insight.short_id}` }]),
    {
      text: 'Move earlier',
      is_disabled: index === 0,
      onSelect: () => edit.place(moveTile(tiles, tile.id, index - 1)),
    },
    {
      text: 'Move later',
      is_disabled: index === tiles.length - 1,
      onSelect: () => edit.place(moveTile(tiles, tile.id, index + 1)),
    },
    null,
    ...WIDTHS.map((width) => ({
      text: width.text,
      is_checked: width.w === w,
      onSelect: () => edit.place(resizeTile(tiles, tile.id, width.w)),
    })),
    null,
    {
      text: 'Take off the board',
      icon: 'trash',
      is_danger: true,
      onSelect: () => edit.remove(tile),
    },
  ]
}

function boardActions(
  board: Board,
  edit: BoardEdit,
  setDialog: (dialog: BoardDialog) => void,
): readonly (MenuItem | null)[] {
  return [
    { text: 'Add a text', icon: 'note', onSelect: () => setDialog('text') },
    { text: 'Rename', onSelect: () => setDialog('rename') },
    {
      text: board.pinned ? 'Unpin' : 'Pin',
      onSelect: () => edit.change({ pinned: !board.pinned }),
    },
    {
      text: 'Full screen',
      onSelect: () => void document.documentElement.requestFullscreen().catch(() => undefined),
    },
    null,
    { text: 'Delete', icon: 'trash', is_danger: true, onSelect: edit.drop },
  ]
}

type BoardEdit = {
  readonly change: (fields: object) => void
  readonly place: (tiles: readonly BoardTile[]) => void
  readonly remove: (tile: BoardTile) => void
  readonly drop: () => void
}

/** Changes of a board, each at once; what can be undone is offered to be. */
function useBoardEdit({ id, tiles }: Board): BoardEdit {
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
    if (!(await send({ deleted: true }))) return
    navigate('/boards')
    showToast({
      text: 'The board is deleted',
      action: { text: 'Undo', run: () => void send({ deleted: false }) },
    })
  }
  /** Puts a removed tile back where it was; the server gives it another id. */
  const restore = async (tile: BoardTile): Promise<void> => {
    const { insight, text } = tile
    const [at, body] =
      insight === null
        ? [path, { tiles: [{ text: { body: text?.body } }] }]
        : [`insights/${insight.id}/`, { dashboards: insight.dashboards }]
    try {
      await changeBoards(project.id, 'PATCH', [at, body])
      const known = new Set(tiles.map((one) => one.id))
      const now = await call<Board>('GET', `/api/projects/${project.id}/${path}`)
      const added = now.tiles.find((one) => !known.has(one.id))
      const before = orderTiles(tiles).map((one) => (one.id === tile.id ? added : one))
      place(before.filter((one) => one !== undefined))
    } catch (error) {
      showToast({ text: errorText(error) })
    }
  }
  const place = (placed: readonly BoardTile[]): void =>
    void send({
      tiles: placeTiles(placed).map(({ id: tile_id, layouts }) => ({ id: tile_id, layouts })),
    })
  const remove = async (tile: BoardTile): Promise<void> => {
    if (!(await send({ tiles: [{ id: tile.id, deleted: true }] }))) return
    showToast({
      text: 'The tile is gone',
      action: { text: 'Undo', run: () => void restore(tile) },
    })
  }
  return {
    change: (fields) => void send(fields),
    place,
    remove: (tile) => void remove(tile),
    drop: () => void drop(),
  }
}

/** Asks every tile again; also by itself every five minutes while the page fills the screen. */
function useRefresh(): () => void {
  const client = useQueryClient()
  const { id } = useProject()
  const refresh = (): void => void client.invalidateQueries({ queryKey: ['query', id] })
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.fullscreenElement !== null) refresh()
    }, REFRESH_MS)
    return () => clearInterval(timer)
  }, [id])
  return refresh
}
