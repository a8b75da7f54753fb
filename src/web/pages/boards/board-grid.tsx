/** The tiles of a board that can be edited. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useAlerts } from '../../api/alerts.ts'
import type { BoardFilters, BoardTile, TileLayout } from '../../api/boards.ts'
import { type AnyQuery, useAnswer } from '../../api/calls/ask.ts'
import { AnswerMenu } from '../../parts/answer/answer-menu.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { Menu, type MenuItem } from '../../parts/overlays/menu.tsx'
import { SERVER_URL } from '../../state/base-path.ts'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { usePreloadedView } from '../explore/views/views.ts'
import type { BoardEdit } from './board-edit.ts'
import style from './boards.module.css'
import { layoutOf, moveTile, ROW_PX, resizeTile, type TileSize, WIDTHS } from './layout.ts'
import { insightName, NoChart, TileAnswer, TileFrame, tileQuery, tileTable } from './tile.tsx'
import { MoveHandle, SizeHandle } from './tile-tools.tsx'

type BoardGridProps = {
  readonly tiles: readonly BoardTile[]
  readonly filters: BoardFilters
  /** Null without the right to change the board. */
  readonly edit: BoardEdit | null
  readonly onEditText: (tile: BoardTile) => void
}

const NO_ACTIONS: readonly MenuItem[] = []

/** Draws the tiles in their order, row by row. */
export function BoardGrid({ tiles, filters, edit, onEditText }: BoardGridProps): VNode {
  const firing = useFiringInsights()
  const [target, setTarget] = useState<number | null>(null)
  const grid = useRef<HTMLDivElement>(null)
  /** A moved tile leaves its place in the document, and with it the focus of its handle. */
  const moved = useRef<number | null>(null)
  useEffect(() => {
    const handle = `[data-tile="${moved.current}"] [data-handle] button`
    if (moved.current !== null) grid.current?.querySelector<HTMLElement>(handle)?.focus()
    moved.current = null
  }, [tiles])
  const place = (tile: BoardTile, to: number): void => {
    if (to < 0 || to >= tiles.length) return
    moved.current = tile.id
    edit?.place(moveTile(tiles, tile.id, to))
  }
  return (
    <div class={style.grid} ref={grid} data-grid>
      {tiles.map((tile, index) => (
        <EditedTile
          key={tile.id}
          tile={tile}
          filters={filters}
          is_target={target === tile.id}
          is_firing={tile.insight !== null && firing.has(tile.insight.id)}
          is_fixed={edit === null}
          actions={edit === null ? NO_ACTIONS : tileActions(tile, { tiles, index, edit })}
          onEditText={() => onEditText(tile)}
          onStep={(step) => place(tile, index + step)}
          onOver={(id) => setTarget(id === tile.id ? null : id)}
          onDrop={() => {
            const to = tiles.findIndex(({ id }) => id === target)
            if (to !== -1) place(tile, to)
          }}
          onResize={(size) => edit?.place(resizeTile(tiles, tile.id, size))}
        />
      ))}
    </div>
  )
}

/** The ids of the insights of which an alert fires. */
function useFiringInsights(): ReadonlySet<number> {
  const { data } = useAlerts()
  const firing = data?.results.filter(({ state, enabled }) => enabled && state === 'Firing') ?? []
  return new Set(firing.map(({ insight }) => insight.id))
}

type EditedTileProps = {
  readonly tile: BoardTile
  readonly filters: BoardFilters
  readonly is_target: boolean
  /** An alert on its insight fires. */
  readonly is_firing: boolean
  /** Without handles. */
  readonly is_fixed: boolean
  readonly actions: readonly (MenuItem | null)[]
  readonly onEditText: () => void
  readonly onStep: (step: number) => void
  /** The tile below the pointer while this one is dragged. */
  readonly onOver: (tile_id: number | null) => void
  readonly onDrop: () => void
  readonly onResize: (size: TileSize) => void
}

function EditedTile(props: EditedTileProps): VNode {
  const { tile, filters, actions, onEditText } = props
  const { insight, text } = tile
  if (insight === null) {
    const edit = { text: 'Edit the text', icon: 'note', onSelect: onEditText } as const
    return (
      <HandledTile
        {...props}
        name="Text"
        menu={
          props.is_fixed ? null : <Menu label="Actions of Text" items={[edit, null, ...actions]} />
        }
      >
        {() => <p class={style.text}>{text?.body}</p>}
      </HandledTile>
    )
  }
  const asked = tileQuery(insight.query)
  if (asked !== null) {
    return <AskedTile {...props} insight={insight} query={withBoardFilters(asked, filters)} />
  }
  const name = insightName(insight)
  const items = [openItem(insight), ...(actions.length > 0 ? [null, ...actions] : [])]
  return (
    <HandledTile {...props} name={name} menu={<Menu label={`Actions of ${name}`} items={items} />}>
      {() => <NoChart />}
    </HandledTile>
  )
}

type TileInsight = NonNullable<BoardTile['insight']>

type AskedTileProps = EditedTileProps & {
  readonly insight: TileInsight
  readonly query: AnyQuery
}

/** A tile with an answer and its menu. */
function AskedTile({ insight, query, ...props }: AskedTileProps): VNode {
  const { id, timezone } = useProject()
  const picture = useRef<HTMLDivElement>(null)
  usePreloadedView(query.kind)
  const answer = useAnswer(query)
  const { data, isPlaceholderData } = answer
  const name = insightName(insight)
  const menu = (
    <AnswerMenu
      name={name}
      label={`Actions of ${name}`}
      link={`${SERVER_URL}/p/${id}/insights/${insight.short_id}`}
      query={query}
      hogql={isPlaceholderData ? null : data?.hogql}
      tableOf={
        data === undefined || isPlaceholderData ? undefined : () => tileTable(insight.query, data)
      }
      picture={picture}
      items={useInsightActions(insight)}
      items_below={props.actions}
    />
  )
  return (
    <HandledTile {...props} name={name} menu={menu}>
      {(layout) => (
        <Loaded of={answer} skeleton={<SkeletonBlock height={(layout.h - 1) * ROW_PX} />}>
          {(shown) => (
            <div ref={picture}>
              <TileAnswer
                query={insight.query}
                answer={shown}
                timezone={timezone}
                layout={layout}
              />
            </div>
          )}
        </Loaded>
      )}
    </HandledTile>
  )
}

type HandledTileProps = EditedTileProps & {
  readonly name: string
  readonly menu: VNode | null
  readonly children: (layout: TileLayout) => VNode
}

/** A tile with its handles. */
function HandledTile(props: HandledTileProps): VNode {
  const { tile, name, menu, children, is_target, is_firing, is_fixed } = props
  const { insight } = tile
  const [draft, setDraft] = useState<TileSize | null>(null)
  const stored = layoutOf(tile)
  const layout = { ...stored, ...draft }
  const head = (
    <>
      {is_fixed ? (
        <span />
      ) : (
        <span data-handle>
          <MoveHandle
            name={name}
            onStep={props.onStep}
            onOver={props.onOver}
            onDrop={props.onDrop}
          />
        </span>
      )}
      {insight === null ? <span /> : <Link href={`/insights/${insight.short_id}`}>{name}</Link>}
      {is_firing && (
        <Link href="/alerts" class={style.firing}>
          Alert
        </Link>
      )}
      {menu}
    </>
  )
  return (
    <TileFrame id={tile.id} label={name} layout={layout} head={head} is_target={is_target}>
      {children(layout)}
      {!is_fixed && (
        <SizeHandle name={name} size={stored} onDraft={setDraft} onResize={props.onResize} />
      )}
    </TileFrame>
  )
}

/** Entries of a tile's menu above those of its answer. */
function useInsightActions(insight: TileInsight): readonly MenuItem[] {
  const may_alert = useMayEdit('alert') && tileQuery(insight.query)?.kind === 'TrendsQuery'
  const alert: MenuItem = { text: 'Alert', icon: 'alert', href: `/alerts?insight=${insight.id}` }
  return may_alert ? [openItem(insight), alert] : [openItem(insight)]
}

const openItem = ({ short_id }: TileInsight): MenuItem => ({
  text: 'Open',
  icon: 'explore',
  href: `/insights/${short_id}`,
})

/** The server changes insights by the filters; SQL takes them where its text says `{filters}`. */
function withBoardFilters(query: AnyQuery, filters: BoardFilters): AnyQuery {
  if (query.kind !== 'HogQLQuery') return query
  const { date_from = null, date_to = null, properties = [] } = filters
  const has_range = date_from !== null || date_to !== null
  const own = (query['filters'] ?? {}) as { readonly properties?: readonly unknown[] }
  return {
    ...query,
    filters: {
      ...own,
      ...(has_range && { dateRange: { date_from, date_to } }),
      ...(properties.length > 0 && { properties: [...(own.properties ?? []), ...properties] }),
    },
  }
}

type TilePlace = {
  readonly tiles: readonly BoardTile[]
  readonly index: number
  readonly edit: BoardEdit
}

/** Menu entries of a tile of any kind: order, width, removal. */
function tileActions(
  tile: BoardTile,
  { tiles, index, edit }: TilePlace,
): readonly (MenuItem | null)[] {
  const size = layoutOf(tile)
  return [
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
    ...WIDTHS.map(({ w, text }) => ({
      text,
      is_checked: w === size.w,
      onSelect: () => edit.place(resizeTile(tiles, tile.id, { w, h: size.h })),
    })),
    null,
    {
      text: 'Remove from the board',
      icon: 'trash',
      is_danger: true,
      onSelect: () => edit.remove(tile),
    },
  ]
}
