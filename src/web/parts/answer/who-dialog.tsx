/** Lists the persons or groups that a number counts, and offers a filter that keeps only them. */
import { useInfiniteQuery } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import type { PersonInRowAnswer } from '../../../contract/insights/answers.ts'
import { type AnswerOf, ask } from '../../api/calls/ask.ts'
import { useProject } from '../../state/project.tsx'
import { Button } from '../button.tsx'
import type { PropertyCondition } from '../filters/conditions.ts'
import { formatAgo, formatNumber } from '../format.ts'
import { Icon } from '../icon.tsx'
import { EmptyNote } from '../notes/empty-note.tsx'
import { ErrorNote, errorText, isWorthRetry } from '../notes/error-note.tsx'
import { Skeleton } from '../notes/skeleton.tsx'
import { Dialog } from '../overlays/dialog.tsx'
import type { ClickedNumber } from './clicked-number.ts'
import style from './who-dialog.module.css'

type WhoDialogProps = {
  readonly clicked: ClickedNumber
  readonly onFilter: (filters: readonly PropertyCondition[]) => void
  readonly onClose: () => void
}

const PAGE = 50

/** Draws the list beside the chart. */
export function WhoDialog({ clicked, onFilter, onClose }: WhoDialogProps): VNode {
  const { title, value, text = formatNumber(value), filters = [], source } = clicked
  return (
    <Dialog title={title} onClose={onClose} is_wide>
      <div class={style.head}>
        <p class={style.figure}>{text}</p>
        {filters.length > 0 && (
          <Button icon="filter" onClick={() => onFilter(filters)}>
            Show only these
          </Button>
        )}
      </div>
      {source === undefined ? (
        <p class={style.remark}>A formula does not count persons.</p>
      ) : (
        <Actors source={source} />
      )}
    </Dialog>
  )
}

function Actors({ source }: { readonly source: NonNullable<ClickedNumber['source']> }): VNode {
  const { id } = useProject()
  const pages = useInfiniteQuery({
    queryKey: ['who', id, source],
    queryFn: ({ pageParam, signal }) =>
      ask(
        id,
        { kind: 'ActorsQuery', select: ['actor'], source, limit: PAGE, offset: pageParam },
        { signal },
      ),
    initialPageParam: 0,
    getNextPageParam: (last: AnswerOf<readonly unknown[]>, all: readonly unknown[]) =>
      last.hasMore ? all.length * PAGE : undefined,
  })
  const { data, error, isFetching, refetch, hasNextPage, fetchNextPage } = pages
  if (error !== null && !isFetching)
    return (
      <ErrorNote
        message={errorText(error)}
        onRetry={isWorthRetry(error) ? () => void refetch() : undefined}
      />
    )
  if (data === undefined) return <Skeleton lines={6} label="Loading persons" />
  const actors = data.pages.flatMap(({ results }) =>
    results.map(([actor]) => actor as PersonInRowAnswer),
  )
  if (actors.length === 0) {
    return (
      <EmptyNote title="No persons" icon="persons">
        <p>These events have no person, or the persons were deleted.</p>
      </EmptyNote>
    )
  }
  return (
    <>
      <ul class={style.list} aria-label="Persons behind the number">
        {actors.map((actor) => (
          <li key={actor.id}>
            <Actor actor={actor} />
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button disabled={isFetching} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
    </>
  )
}

const NAMES = ['email', 'name', 'username'] as const

function Actor({ actor }: { readonly actor: PersonInRowAnswer }): VNode {
  const { properties = {}, distinct_ids = [], created_at } = actor
  const texts = NAMES.flatMap((key) => {
    const text = properties[key]
    return typeof text === 'string' && text !== '' ? [text] : []
  })
  const [first = distinct_ids[0] ?? actor.id, second = distinct_ids.at(-1)] = texts
  const place = properties['$geoip_country_name']
  const inside = (
    <>
      <span class={style.mark} aria-hidden="true">
        {texts.length > 0 ? first.slice(0, 1).toUpperCase() : <Icon name="user" size={16} />}
      </span>
      <span class={style.name}>
        <b title={first}>{first}</b>
        <small>{second === first ? '' : second}</small>
      </span>
      <small class={style.side}>
        {typeof place === 'string' && place}
        {created_at && <span>first seen {formatAgo(created_at)}</span>}
      </small>
    </>
  )
  // Groups, and persons without a profile, have no page of their own.
  if (actor.distinct_ids === undefined) return <div class={style.person}>{inside}</div>
  return (
    <Link href={`/persons/${actor.id}`} class={style.person}>
      {inside}
      <Icon name="chevron" size={14} />
    </Link>
  )
}
