/** The tiles of a board that can be edited. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useAlerts } from '../../api/alerts.ts'
import { type AnyQuery, useAnswer } from '../../api/ask.ts'
import type { BoardFilters, BoardTile, TileLayout } from '../../api/boards.ts'
import { Loaded } from '../../parts/loaded.tsx'
import { Menu, type MenuItem } from '../../parts/menu.tsx'
import { SkeletonBlock } from '../../parts/skeleton.tsx'
import { useProject } from '../../state/project.tsx'
import type { BoardEdit } from './board-edit.ts'
import style from './boards.module.css'
import { layoutOf, moveTile, ROW_PX, resizeTile, type TileSize, WIDTHS } from './layout.ts'
import { insightName, NoChart, TileAnswer, TileFrame, tileQuery } from './tile.tsx'
import { MoveHandle, SizeHandle } from './tile-tools.tsx'

type BoardGridProps = {
  readonly tiles: readonly BoardTile[]
  readonly filters: BoardFilters
  readonly edit: BoardEdit
  readonly onEditText: (tile: BoardTile) => void
}

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
    edit.place(moveTile(tiles, tile.id, to))
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
          actions={tileActions(tile, { tiles, index, edit, onEditText })}
          onStep={(step) => place(tile, index + step)}
          onOver={(id) => setTarget(id === tile.id ? null : id)}
          onDrop={() => {
            const to = tiles.findIndex(({ id }) => id === target)
            if (to !== -1) place(tile, to)
          }}
          onResize={(size) => edit.place(resizeTile(tiles, tile.id, size))}
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
  readonly actions: readonly (MenuItem | null)[]
  readonly onStep: (step: number) => void
  readonly onOver: (tile_id: number | null) => void
  readonly onDrop: () => void
  readonly onResize: (size: TileSize) => void
}

function EditedTile(props: EditedTileProps): VNode {
  const { tile, filters, is_target, is_firing, actions, onStep, onOver, onDrop, onResize } = props
  const { insight, text } = tile
  const [draft, setDraft] = useState<TileSize | null>(null)
  const stored = layoutOf(tile)
  const layout = { ...stored, ...draft }
  const name = insight === null ? 'Text' : insightName(insight)
  const head = (
    <>
      <span data-handle>
        <MoveHandle name={name} onStep={onStep} onOver={onOver} onDrop={onDrop} />
      </span>
      {insight === null ? <span /> : <Link href={`/insights/${insight.short_id}`}>{name}</Link>}
      {is_firing && (
        <Link href="/alerts" class={style.firing}>
          Alert
        </Link>
      )}
      <Menu label={`Actions of ${name}`} items={actions} />
    </>
  )
  return (
    <TileFrame id={tile.id} label={name} layout={layout} head={head} is_target={is_target}>
      {text !== null && <p class={style.text}>{text.body}</p>}
      {insight !== null && <TileChart query={insight.query} filters={filters} layout={layout} />}
      <SizeHandle name={name} size={stored} onDraft={setDraft} onResize={onResize} />
    </TileFrame>
  )
}

type TileChartProps = {
  readonly query: unknown
  readonly filters: BoardFilters
  readonly layout: TileLayout
}

function TileChart({ query, filters, layout }: TileChartProps): VNode {
  const asked = tileQuery(query)
  if (asked === null) return <NoChart />
  return <AskedChart query={withBoardFilters(asked, filters)} shown={query} layout={layout} />
}

type AskedChartProps = {
  readonly query: AnyQuery
  readonly shown: unknown
  readonly layout: TileLayout
}

function AskedChart({ query, shown, layout }: AskedChartProps): VNode {
  const { timezone } = useProject()
  const height = (layout.h - 1) * ROW_PX
  return (
    <Loaded of={useAnswer(query)} skeleton={<SkeletonBlock height={height} />}>
      {(answer) => <TileAnswer query={shown} answer={answer} timezone={timezone} layout={layout} />}
    </Loaded>
  )
}

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
  readonly onEditText: (tile: BoardTile) => void
}

function tileActions(
  tile: BoardTile,
  { tiles, index, edit, onEditText }: TilePlace,
): readonly (MenuItem | null)[] {
  const size = layoutOf(tile)
  const asked = tile.insight === null ? null : tileQuery(tile.insight.query)
  return [
    ...(asked?.kind === 'TrendsQuery'
      ? [{ text: 'Alert', icon: 'alert' as const, href: `/alerts?insight=${tile.insight?.id}` }]
      : []),
    tile.insight === null
      ? { text: 'Edit the text', icon: 'note' as const, onSelect: () => onEditText(tile) }
      : { text: 'Open', icon: 'explore' as const, href: `/insights/${tile.insight.short_id}` },
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
      text: 'Take off the board',
      icon: 'trash',
      is_danger: true,
      onSelect: () => edit.remove(tile),
    },
  ]
}
