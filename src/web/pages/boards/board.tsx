/** One board: its tiles, a range and filters for all of them, and its menu. */
import type { RefObject, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Board, type BoardFilters, type BoardTile, useBoard } from '../../api/boards.ts'
import { lazyPage } from '../../lazy-page.tsx'
import { Button, ButtonLink, IconButton } from '../../parts/button.tsx'
import { DateRange } from '../../parts/fields/date-range.tsx'
import { type PropertyCondition, readConditions } from '../../parts/filters/conditions.ts'
import { PropertyFilters } from '../../parts/filters/property-filters.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Menu, type MenuItem } from '../../parts/overlays/menu.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { useParam, useParamsChange } from '../../state/url.ts'
import { type BoardEdit, useBoardEdit } from './board-edit.ts'
import { BoardGrid } from './board-grid.tsx'
import { BoardAge, REFRESH_EVERY, useBoardRefresh } from './board-refresh.tsx'
import style from './boards.module.css'
import { orderTiles } from './layout.ts'

/** The dialogs are loaded when they are opened: the page has little room. */
const dialogs = () => import('./board-dialogs.tsx')
const AddInsight = lazyPage(() => dialogs().then((all) => all.AddInsight), { is_dialog: true })
const Rename = lazyPage(() => dialogs().then((all) => all.Rename), { is_dialog: true })
const TextDialog = lazyPage(() => dialogs().then((all) => all.TextDialog), { is_dialog: true })
const SubscribeDialog = lazyPage(
  () => import('./subscribe-dialog.tsx').then(({ SubscribeDialog: Dialog }) => Dialog),
  { is_dialog: true },
)
const ShareDialog = lazyPage(
  () => import('./share-dialog.tsx').then(({ ShareDialog: Dialog }) => Dialog),
  { is_dialog: true },
)

/** `?from=own`: each insight keeps its own range. */
const OWN_RANGE = 'own'
/** A screen on the wall is refreshed this often by default. */
const FULL_SCREEN_MINUTES = 5

/** The board of an id. */
export function BoardView({ board_id }: { readonly board_id: number }): VNode {
  const changed = useChangedFilters()
  const missing = (
    <EmptyNote title="Board not found" icon="boards">
      <p>It may have been deleted.</p>
      <ButtonLink href="/boards">All boards</ButtonLink>
    </EmptyNote>
  )
  return (
    <Loaded of={useBoard(board_id, changed)} title="Board" missing={missing}>
      {(board) => <OpenBoard key={board.id} board={board} changed={changed} />}
    </Loaded>
  )
}

/** The filters in the address, which replace those that are stored with the board. */
function useChangedFilters(): BoardFilters {
  const [from] = useParam('from')
  const [to] = useParam('to')
  const [filters] = useParam('filters')
  return {
    ...(from !== '' && { date_from: from === OWN_RANGE ? null : from, date_to: to || null }),
    ...(filters !== '' && { properties: readConditions(filters) }),
  }
}

type BoardDialog =
  | { readonly kind: 'insight' | 'rename' | 'share' | 'subscribe' }
  | { readonly kind: 'text'; readonly tile: BoardTile | null }

type OpenBoardProps = { readonly board: Board; readonly changed: BoardFilters }

function OpenBoard({ board, changed }: OpenBoardProps): VNode {
  const [dialog, setDialog] = useState<BoardDialog | null>(null)
  const [every, setEvery] = useParam('every')
  const screen = useFullScreen()
  const minutes = every === '' && screen.is_full ? FULL_SCREEN_MINUTES : Number(every) || 0
  const { refresh, is_refreshing } = useBoardRefresh(minutes)
  const edit = useBoardEdit(board)
  const rights = useBoardRights()
  const filters = { ...board.filters, ...changed }
  const tiles = orderTiles(board.tiles)
  const every_items = REFRESH_EVERY.map((one) => ({
    text: one.text,
    is_checked: one.minutes === minutes,
    onSelect: () => setEvery(one.minutes === 0 ? '' : String(one.minutes)),
  }))
  return (
    <div class={style.board} ref={screen.element}>
      <PageHead title={board.name || 'Board'} aside={<BoardAge />}>
        <BoardRange filters={filters} />
        <Button onClick={refresh} disabled={is_refreshing} aria-busy={is_refreshing}>
          Refresh
        </Button>
        {rights.add && (
          <Button look="main" icon="plus" onClick={() => setDialog({ kind: 'insight' })}>
            Add
          </Button>
        )}
        <Menu
          label="Actions of the board"
          items={boardActions(board, { edit, rights, screen, every_items, setDialog })}
        />
      </PageHead>
      {board.description && <p class={style.about}>{board.description}</p>}
      <BoardConditions filters={filters} changed={changed} edit={rights.edit ? edit : null} />
      {tiles.length === 0 ? (
        <EmptyNote title="This board is empty" icon="boards">
          <p>Add a saved insight, or create one in Explore and save it.</p>
          <ButtonLink href="/explore">Explore</ButtonLink>
        </EmptyNote>
      ) : (
        <BoardGrid
          tiles={tiles}
          filters={filters}
          edit={rights.edit ? edit : null}
          onEditText={(tile) => setDialog({ kind: 'text', tile })}
        />
      )}
      {dialog !== null && (
        <OpenDialog board={board} dialog={dialog} onClose={() => setDialog(null)} />
      )}
    </div>
  )
}

type OpenDialogProps = {
  readonly board: Board
  readonly dialog: BoardDialog
  readonly onClose: () => void
}

function OpenDialog({ board, dialog, onClose }: OpenDialogProps): VNode {
  switch (dialog.kind) {
    case 'insight':
      return <AddInsight board={board} onClose={onClose} />
    case 'text':
      return <TextDialog board={board} tile={dialog.tile} onClose={onClose} />
    case 'rename':
      return <Rename board={board} onClose={onClose} />
    case 'subscribe':
      return <SubscribeDialog board={board} onClose={onClose} />
    case 'share':
      return <ShareDialog board={board} onClose={onClose} />
  }
}

type BoardRights = Readonly<Record<'add' | 'edit' | 'share' | 'subscribe', boolean>>

/** The changes of a board that the user has a right to. An insight is added by a change of the insight. */
function useBoardRights(): BoardRights {
  const edit = useMayEdit('dashboard')
  return {
    edit,
    add: useMayEdit('insight') && edit,
    share: useMayEdit('sharing_configuration'),
    subscribe: useMayEdit('subscription'),
  }
}

type BoardActionsInput = {
  readonly edit: BoardEdit
  readonly rights: BoardRights
  readonly screen: FullScreen
  readonly every_items: readonly MenuItem[]
  readonly setDialog: (dialog: BoardDialog) => void
}

function boardActions(
  board: Board,
  { edit, rights, screen, every_items, setDialog }: BoardActionsInput,
): readonly (MenuItem | null)[] {
  const items: readonly (MenuItem | null | false)[] = [
    rights.edit && {
      text: 'Add a text',
      icon: 'note',
      onSelect: () => setDialog({ kind: 'text', tile: null }),
    },
    rights.share && {
      text: 'Share with a link',
      icon: 'link',
      onSelect: () => setDialog({ kind: 'share' }),
    },
    rights.subscribe && {
      text: 'Post to a webhook',
      onSelect: () => setDialog({ kind: 'subscribe' }),
    },
    rights.edit && { text: 'Rename', onSelect: () => setDialog({ kind: 'rename' }) },
    rights.edit && {
      text: board.pinned ? 'Unpin' : 'Pin',
      onSelect: () => void edit.change({ pinned: !board.pinned }),
    },
    { text: screen.is_full ? 'Exit full screen' : 'Full screen', onSelect: screen.toggle },
    null,
    ...every_items,
    rights.edit && null,
    rights.edit && { text: 'Delete', icon: 'trash', is_danger: true, onSelect: edit.drop },
  ]
  return items.filter((item) => item !== false)
}

function BoardRange({ filters }: { readonly filters: BoardFilters }): VNode {
  const change = useParamsChange()
  const { date_from = null, date_to = null } = filters
  if (date_from === null) {
    return (
      <Button look="quiet" icon="calendar" onClick={() => change({ from: '-30d', to: null })}>
        Date range
      </Button>
    )
  }
  return (
    <>
      <DateRange
        value={{ date_from, date_to }}
        onChange={(range) => change({ from: range.date_from, to: range.date_to })}
      />
      <IconButton
        icon="close"
        label="Use the insights' own ranges"
        onClick={() => change({ from: OWN_RANGE, to: null })}
      />
    </>
  )
}

type BoardConditionsProps = {
  readonly filters: BoardFilters
  readonly changed: BoardFilters
  /** Null without the right to change the board. */
  readonly edit: BoardEdit | null
}

/** The conditions of all tiles; changed ones can be stored with the board. */
function BoardConditions({ filters, changed, edit }: BoardConditionsProps): VNode {
  const change = useParamsChange()
  const conditions: readonly PropertyCondition[] = filters.properties ?? []
  const revert = (): void => change({ from: null, to: null, filters: null })
  const save = async (): Promise<void> => {
    if (await edit?.change({ filters })) revert()
  }
  return (
    <div class={style.conditions}>
      <PropertyFilters
        filters={conditions}
        has_key
        onChange={(wanted) => change({ filters: JSON.stringify(wanted) })}
      />
      {Object.keys(changed).length > 0 && (
        <span class={style.changed}>
          Only you see this
          {edit !== null && <Button onClick={() => void save()}>Save for all</Button>}
          <Button look="quiet" onClick={revert}>
            Revert
          </Button>
        </span>
      )}
    </div>
  )
}

type FullScreen = {
  readonly element: RefObject<HTMLDivElement>
  readonly is_full: boolean
  readonly toggle: () => void
}

/** The board alone on the whole screen. */
function useFullScreen(): FullScreen {
  const element = useRef<HTMLDivElement>(null)
  const [is_full, setFull] = useState(false)
  useEffect(() => {
    const look = (): void => setFull(document.fullscreenElement !== null)
    document.addEventListener('fullscreenchange', look)
    return () => document.removeEventListener('fullscreenchange', look)
  }, [])
  const toggle = (): void => {
    const done = is_full ? document.exitFullscreen() : element.current?.requestFullscreen()
    // A browser may refuse; then the board stays as it is.
    void done?.catch(() => undefined)
  }
  return { element, is_full, toggle }
}
