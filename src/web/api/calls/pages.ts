/** Lists that are read page by page. */
import {
  type InfiniteData,
  keepPreviousData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
} from '@tanstack/preact-query'
import { useProject } from '../../state/project.tsx'
import { type ApiError, type CallOptions, call } from './call.ts'

type ItemPage<Item> = { readonly next: string | null; readonly results: readonly Item[] }

export type ItemPages<Item> = UseInfiniteQueryResult<InfiniteData<ItemPage<Item>>, ApiError>

type PagesRequest = {
  /** The first member of the answer's key: invalidating `[family, project id, 'list']` asks again for all its lists. */
  readonly family: string
  /** Below the project's address: `cohorts/`. */
  readonly path: string
  readonly query: NonNullable<CallOptions['query']>
  /** Items on a page. */
  readonly size?: number
}

const PAGE_SIZE = 100

/** The items of a list of the project. */
export function useItemPages<Item>({
  family,
  path,
  query,
  size = PAGE_SIZE,
}: PagesRequest): ItemPages<Item> {
  const { id } = useProject()
  return useInfiniteQuery({
    queryKey: [family, id, 'list', path, query],
    queryFn: ({ pageParam, signal }) => {
      const page = { ...query, limit: size, offset: pageParam }
      return call<ItemPage<Item>>('GET', `/api/projects/${id}/${path}`, { query: page, signal })
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }, pages) => (next === null ? null : pages.length * size),
    placeholderData: keepPreviousData,
  })
}
