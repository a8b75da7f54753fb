/** Dashboards, which the interface calls boards, and their tiles. */
import {
  type InfiniteData,
  keepPreviousData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/preact-query'
import type { PropertyCondition } from '../parts/filters/conditions.ts'
import { useProject } from '../state/project.tsx'
import { type ApiError, call } from './calls/call.ts'
import { queryClient } from './calls/client.ts'
import { useSettled } from './definitions.ts'
import type { StoredInsight } from './insights.ts'

type BoardListed = {
  readonly id: number
  readonly name: string | null
  readonly description: string
  readonly pinned: boolean
  readonly created_at: string
}

/** Place and size in a grid of twelve columns; a row is about 80 px high. */
export type TileLayout = {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

export type BoardTile = {
  readonly id: number
  readonly layouts: { readonly sm?: TileLayout }
  readonly color: string | null
  /** A tile has an insight or a text. */
  readonly insight: StoredInsight | null
  readonly text: { readonly id: number; readonly body: string } | null
}

/** The filters of a dashboard: its range replaces the range of each insight, its conditions are added to theirs. */
export type BoardFilters = {
  readonly date_from?: string | null
  readonly date_to?: string | null
  readonly properties?: readonly PropertyCondition[]
}

export type Board = BoardListed & {
  readonly filters: BoardFilters
  readonly tiles: readonly BoardTile[]
}

/** The public link of a board; no token while there never was one. */
export type BoardLink = { readonly enabled: boolean; readonly access_token: string | null }

export type BoardTemplate = {
  readonly id: string
  readonly template_name: string
  readonly dashboard_description: string
}

type BoardPage<Item> = { readonly results: readonly Item[] }

const LIST_MAX = 200

function useBoardCall<Answer>(path: string): UseQueryResult<Answer, ApiError> {
  const { id } = useProject()
  return useQuery<Answer, ApiError>({
    queryKey: ['boards', id, path],
    queryFn: ({ signal }) => call<Answer>('GET', `/api/projects/${id}/${path}`, { signal }),
    placeholderData: keepPreviousData,
  })
}

const PAGE_SIZE = 50

type BoardQuery = Readonly<Record<string, string | boolean>>

type NextPage<Item> = BoardPage<Item> & { readonly next: string | null }
type Pages<Item> = UseInfiniteQueryResult<InfiniteData<NextPage<Item>>, ApiError>

function usePages<Item>(path: string, query: BoardQuery): Pages<Item> {
  const { id } = useProject()
  return useInfiniteQuery<NextPage<Item>, ApiError>({
    queryKey: ['boards', id, path, query],
    queryFn: ({ pageParam, signal }) => {
      const page = { ...query, limit: PAGE_SIZE, offset: Number(pageParam) }
      return call('GET', `/api/projects/${id}/${path}`, { query: page, signal })
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }, pages) => (next === null ? null : pages.length * PAGE_SIZE),
    placeholderData: keepPreviousData,
  })
}

/** The boards, the pinned ones first, then by name, page by page. */
export const useBoardPages = (): Pages<BoardListed> => usePages('dashboards/', {})

/** The insights with a text in their name or description, the newest first, page by page. */
export const useInsightPages = (search: string): Pages<StoredInsight> =>
  usePages('insights/', { ...SAVED, order: '-last_modified_at', search: useSettled(search) })

const SAVED = { saved: true, basic: true }

/** The first boards with a text in their name. */
export const useFoundBoards = (search: string): UseQueryResult<BoardPage<BoardListed>, ApiError> =>
  useBoardCall(`dashboards/?limit=${LIST_MAX}&search=${encodeURIComponent(useSettled(search))}`)

/** One board with its tiles. Their queries have the filters applied; no answer is computed. */
export function useBoard(board_id: number, filters: BoardFilters): UseQueryResult<Board, ApiError> {
  const override = encodeURIComponent(JSON.stringify(filters))
  const query = Object.keys(filters).length === 0 ? '' : `?filters_override=${override}`
  return useBoardCall(`dashboards/${board_id}/${query}`)
}

/** The public link of a board. */
export const useBoardLink = (board_id: number): UseQueryResult<BoardLink, ApiError> =>
  useBoardCall(`dashboards/${board_id}/sharing/`)

/** A board that is posted to a webhook on a schedule. */
export type BoardSubscription = {
  readonly id: number
  readonly title: string | null
  readonly target_value: string
  readonly frequency: 'daily' | 'weekly' | 'monthly'
  readonly next_delivery_date: string
  readonly last_delivery_date: string | null
  readonly last_error: string | null
}

/** The subscriptions of a board. */
export const useSubscriptions = (
  board_id: number,
): UseQueryResult<BoardPage<BoardSubscription>, ApiError> =>
  useBoardCall(`subscriptions/?dashboard=${board_id}&limit=${LIST_MAX}`)

/** Boards to start with. */
export const useBoardTemplates = (): UseQueryResult<BoardPage<BoardTemplate>, ApiError> =>
  useBoardCall('dashboard_templates/')

/** The newest saved insights with a text in their name or description. */
export const useFoundInsights = (
  search: string,
): UseQueryResult<BoardPage<StoredInsight>, ApiError> =>
  useBoardCall(
    `insights/?saved=true&basic=true&limit=${LIST_MAX}&search=${encodeURIComponent(useSettled(search))}`,
  )

/** The newest saved trends with a text in their name, and before them the insight with an id, however old it is. */
export function useTrends(
  insight_id: number | null,
  search = '',
): UseQueryResult<readonly StoredInsight[], ApiError> {
  const { id } = useProject()
  const settled = useSettled(search)
  return useQuery<readonly StoredInsight[], ApiError>({
    queryKey: ['boards', id, 'trends', insight_id, settled],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const path = `/api/projects/${id}/insights/`
      const query = { ...SAVED, insight: 'TRENDS', limit: LIST_MAX, search: settled }
      const { results } = await call<BoardPage<StoredInsight>>('GET', path, { query, signal })
      if (insight_id === null || results.some((one) => one.id === insight_id)) return results
      return [await call<StoredInsight>('GET', `${path}${insight_id}/`, { signal }), ...results]
    },
  })
}

/** Changes that were sent or wait to be; they are sent one after the other. */
let unanswered = 0
let last_change: Promise<unknown> = Promise.resolve()

/**
 * Calls below the project's dashboards. After the last change the shown boards and insights are fetched again: an answer
 * from between two changes would bring the first one's state back.
 */
export async function changeBoards<Answer>(
  project_id: number,
  method: 'POST' | 'PATCH',
  [path, body]: readonly [path: string, body: unknown],
): Promise<Answer> {
  unanswered += 1
  const send = () => call<Answer>(method, `/api/projects/${project_id}/${path}`, { body })
  const answer = last_change.then(send, send)
  last_change = answer
  try {
    return await answer
  } finally {
    unanswered -= 1
    if (unanswered === 0) {
      await Promise.all(
        ['boards', 'insight'].map((kind) =>
          queryClient.invalidateQueries({ queryKey: [kind, project_id] }),
        ),
      )
    }
  }
}

/** Puts an insight on one more board. */
export async function addToBoard(
  project_id: number,
  insight_id: number,
  board_id: number,
): Promise<void> {
  const path = `insights/${insight_id}/`
  // The boards as they are now: the list that is sent replaces them, and another user may have changed them since.
  const { dashboards } = await call<StoredInsight>('GET', `/api/projects/${project_id}/${path}`)
  await changeBoards(project_id, 'PATCH', [path, { dashboards: [...dashboards, board_id] }])
}

/** Shows tiles as placed before the server has stored them; answers that are on their way are older. */
export async function showTiles(
  project_id: number,
  board_id: number,
  tiles: readonly BoardTile[],
): Promise<void> {
  const queryKey = ['boards', project_id]
  await queryClient.cancelQueries({ queryKey })
  queryClient.setQueriesData<Board>({ queryKey }, (board) =>
    board !== undefined && 'tiles' in board && board.id === board_id ? { ...board, tiles } : board,
  )
}
