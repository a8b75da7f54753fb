/** A board by its public link, at `/shared/:token`: read-only, and refreshed periodically for a screen on the wall. */
import { useQuery } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useRoute } from 'wouter-preact'
import type { BoardTile, TileLayout } from '../../api/boards.ts'
import { type ApiError, call } from '../../api/calls/call.ts'
import { formatAgo, formatMoment } from '../../parts/format.ts'
import { ErrorNote } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import boards from '../boards/boards.module.css'
import { layoutOf } from '../boards/layout.ts'
import { insightName, NoChart, TileAnswer, TileFrame, tileQuery } from '../boards/tile.tsx'
import { OuterFrame } from '../outer/outer-frame.tsx'
import style from './shared.module.css'

type SharedTile = {
  readonly id: number
  readonly layouts: { readonly sm?: TileLayout }
  readonly text: BoardTile['text']
  readonly insight: {
    readonly name: string | null
    readonly query: unknown
    readonly result: unknown
    readonly columns: readonly string[] | null
    readonly last_refresh: string | null
    readonly query_status: { readonly error_message?: string } | null
  } | null
}

type SharedAnswer = {
  readonly timezone: string
  /** True where the page is drawn into a picture. */
  readonly is_picture?: boolean
  readonly dashboard: {
    readonly name: string | null
    readonly description: string
    readonly tiles: readonly SharedTile[]
  }
}

/** A screen on the wall asks again this often. */
const REFRESH_MS = 300_000

/** The page. */
export function SharedPage(): VNode {
  const [, params] = useRoute('/shared/:token')
  const token = params?.token ?? ''
  const board = useQuery<SharedAnswer, ApiError>({
    queryKey: ['shared', token],
    queryFn: ({ signal }) => call('GET', `/shared/${encodeURIComponent(token)}.json`, { signal }),
    refetchInterval: REFRESH_MS,
    refetchIntervalInBackground: true,
  })
  if (board.error?.status === 404) {
    return (
      <OuterFrame
        title="This link is no longer valid"
        lead="Ask the person who gave it to you for a new one."
      />
    )
  }
  return (
    <main class={style.shared}>
      <Loaded of={board}>{(shared) => <SharedBoard shared={shared} />}</Loaded>
    </main>
  )
}

function SharedBoard({ shared }: { readonly shared: SharedAnswer }): VNode {
  const { timezone, dashboard } = shared
  const times = dashboard.tiles.flatMap(({ insight }) => insight?.last_refresh ?? [])
  const oldest = times.toSorted()[0]
  return (
    <>
      <PageHead
        title={dashboard.name || 'Board'}
        aside={oldest && <span class={style.age}>{ageText(shared, oldest)}</span>}
      />
      {dashboard.description && <p class={boards.about}>{dashboard.description}</p>}
      <div class={boards.grid}>
        {dashboard.tiles.map((tile) => (
          <SharedTileView
            key={tile.id}
            tile={tile}
            timezone={timezone}
            is_named_above={tile.insight?.name === dashboard.name}
          />
        ))}
      </div>
    </>
  )
}

/** A picture has the time of its computation, not its age: it is looked at later. */
function ageText({ is_picture = false, timezone }: SharedAnswer, computed_at: string): string {
  return is_picture
    ? `as of ${formatMoment(computed_at, timezone)}`
    : `computed ${formatAgo(computed_at)}`
}

type SharedTileProps = {
  readonly tile: SharedTile
  readonly timezone: string
  /** The page has the insight's name already: the picture of one insight. */
  readonly is_named_above: boolean
}

function SharedTileView({ tile, timezone, is_named_above }: SharedTileProps): VNode {
  const { insight, text } = tile
  const layout = layoutOf(tile)
  const name = insight === null ? 'Text' : insightName(insight)
  return (
    <TileFrame
      id={tile.id}
      label={name}
      layout={layout}
      head={insight === null || is_named_above ? null : <h2>{name}</h2>}
    >
      {text !== null && <p class={boards.text}>{text.body}</p>}
      {insight !== null && <SharedChart insight={insight} timezone={timezone} layout={layout} />}
    </TileFrame>
  )
}

type SharedChartProps = {
  readonly insight: NonNullable<SharedTile['insight']>
  readonly timezone: string
  readonly layout: TileLayout
}

function SharedChart({ insight, timezone, layout }: SharedChartProps): VNode {
  const { query, result, columns, query_status } = insight
  if (result === null) {
    return <ErrorNote message={query_status?.error_message ?? 'This insight has no answer.'} />
  }
  if (tileQuery(query) === null) return <NoChart />
  const answer = { results: result, columns: columns ?? [] }
  return <TileAnswer query={query} answer={answer} timezone={timezone} layout={layout} />
}
