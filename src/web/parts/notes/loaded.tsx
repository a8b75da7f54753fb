/** The three states of a query's answer: loading, failed, loaded. */
import type { UseQueryResult } from '@tanstack/preact-query'
import type { ComponentChildren, VNode } from 'preact'
import { ApiError } from '../../api/calls/call.ts'
import { PageHead } from '../page-head.tsx'
import { ErrorNote, errorText, isUnreachable, isWorthRetry } from './error-note.tsx'
import style from './loaded.module.css'
import { Skeleton } from './skeleton.tsx'

type LoadedProps<Answer> = {
  /** The result of `useAnswer` or `useQuery`. */
  readonly of: UseQueryResult<Answer>
  /** The page's heading until its answer is here and brings one. */
  readonly title?: string
  /** Drawn at the first load; as high as the answer will be, so that nothing jumps. */
  readonly skeleton?: VNode
  /** Drawn instead of the answer when it is empty. */
  readonly empty?: VNode
  readonly isEmpty?: (answer: Answer) => boolean
  /** Drawn below the heading when there is no such object (404). */
  readonly missing?: VNode
  readonly children: (answer: Answer) => ComponentChildren
}

/**
 * Draws an answer. While a newer one is under way the old one stays, dimmed, under a thin bar; an error is shown above
 * the old answer, or in its place. That the server does not answer is said once, by `state/connection.ts`, which also
 * asks again: here the old answer or the skeleton stays.
 */
export function Loaded<Answer>(props: LoadedProps<Answer>): VNode {
  const { of, title, skeleton, empty, isEmpty, missing, children } = props
  const { data, error, isFetching, isPlaceholderData, refetch } = of
  const head = title !== undefined && <PageHead title={title} />
  if (missing !== undefined && error instanceof ApiError && error.status === 404) {
    return (
      <>
        {head}
        {missing}
      </>
    )
  }
  const note = error !== null && !isFetching && !isUnreachable(error) && (
    <ErrorNote
      message={errorText(error)}
      onRetry={isWorthRetry(error) ? () => void refetch() : undefined}
    />
  )
  if (data === undefined) {
    return (
      <div class={style.loaded} aria-busy={isFetching}>
        {head}
        {note || skeleton || <Skeleton />}
      </div>
    )
  }
  const is_old = isPlaceholderData || (isFetching && error !== null)
  const body = empty !== undefined && isEmpty?.(data) ? empty : children(data)
  return (
    <div class={style.loaded} aria-busy={isFetching}>
      {is_old && <div class={style.bar} />}
      {note}
      <div class={is_old ? style.old : undefined}>{body}</div>
    </div>
  )
}
