/** The age of a moment; the pointer shows the moment itself. */
import type { VNode } from 'preact'
import { useProject } from '../state/project.tsx'
import style from './ago.module.css'
import { formatAgo, formatMoment, formatTime } from './format.ts'

type AgoProps = {
  readonly iso: string
  /** Adds the time of day, where there is room: rows of one hour have the same age. */
  readonly has_clock?: boolean
}

/** Draws `2 hr ago`, or `2 hr ago 14:05:09` in the project's zone. */
export function Ago({ iso, has_clock = false }: AgoProps): VNode {
  const { timezone } = useProject()
  return (
    <time class={style.ago} dateTime={iso} title={formatMoment(iso, timezone)}>
      {formatAgo(iso)}
      {has_clock && <span> {formatTime(iso, timezone)}</span>}
    </time>
  )
}
