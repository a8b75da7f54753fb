/** The number of visitors in the last minutes, asked again while the page is visible. */
import { useQuery } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { ask } from '../../api/calls/ask.ts'
import { formatCompact } from '../../parts/format.ts'
import { useProject } from '../../state/project.tsx'
import style from './web.module.css'

const EVERY_MS = 20_000
const LIVE_QUERY = {
  kind: 'HogQLQuery',
  query:
    "select uniq(person_id) from events where event in ('$pageview', '$screen') and timestamp > now() - interval 5 minute and timestamp <= now()",
} as const

/** Draws a dot and the number; before the first answer and when it fails only their space: on a phone the head would get one more line. */
export function LiveCount(): VNode {
  const { id } = useProject()
  const { data } = useQuery({
    queryKey: ['live', id],
    queryFn: ({ signal }) => ask(id, LIVE_QUERY, { is_forced: true, signal }),
    refetchInterval: EVERY_MS,
    staleTime: 0,
  })
  const count = data?.results[0]?.[0]
  if (typeof count !== 'number') {
    return (
      <span class={style.live} style={{ visibility: 'hidden' }}>
        <span />0 online
      </span>
    )
  }
  return (
    <Link
      href="/events"
      class={style.live}
      title="Visitors of the last five minutes: open their events"
    >
      <span aria-hidden="true" class={count > 0 ? style.on : ''} />
      {formatCompact(count)} online
    </Link>
  )
}
