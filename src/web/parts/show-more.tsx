/** The button below a list that is read page by page: it asks for the next page. */
import type { VNode } from 'preact'
import { Button } from './button.tsx'
import style from './show-more.module.css'

type ShowMoreProps = {
  /** Of `useInfiniteQuery`. */
  readonly list: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    readonly fetchNextPage: () => Promise<unknown>
  }
  readonly text: string
}

/** Draws nothing when the last page is there. */
export function ShowMore({ list, text }: ShowMoreProps): VNode | null {
  if (!list.hasNextPage) return null
  return (
    <div class={style.more}>
      <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        {list.isFetchingNextPage ? 'Loading…' : text}
      </Button>
    </div>
  )
}
