/** Shows the age of a board's answers and refreshes them: by hand, or periodically for a screen on the wall. */
import { useQueryClient } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type AnswerOf, type AnyQuery, ask } from '../../api/calls/ask.ts'
import { formatAgo } from '../../parts/format.ts'
import { errorText } from '../../parts/notes/error-note.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'
import style from './boards.module.css'

/** REFRESH_EVERY: the choices for a periodic refresh. A line adds one. */
export const REFRESH_EVERY = [
  { minutes: 0, text: 'Refresh manually' },
  { minutes: 1, text: 'Refresh every minute' },
  { minutes: 5, text: 'Refresh every 5 minutes' },
  { minutes: 15, text: 'Refresh every 15 minutes' },
  { minutes: 60, text: 'Refresh every hour' },
] as const

const MINUTE_MS = 60_000
/** Tiles that are computed at the same time. */
const ASKED_AT_ONCE = 4

type BoardRefresh = { readonly refresh: () => void; readonly is_refreshing: boolean }

/** Returns a function that computes every tile again, a few at a time. With `minutes` > 0 it is called periodically. */
export function useBoardRefresh(minutes: number): BoardRefresh {
  const client = useQueryClient()
  const { id } = useProject()
  const [is_refreshing, setRefreshing] = useState(false)
  const refresh = async (): Promise<void> => {
    const shown = client.getQueryCache().findAll({ queryKey: ['query', id], type: 'active' })
    setRefreshing(true)
    let failure: unknown = null
    const askNext = async (): Promise<void> => {
      for (let tile = shown.pop(); tile !== undefined; tile = shown.pop()) {
        const query = tile.queryKey[2] as AnyQuery
        try {
          client.setQueryData(tile.queryKey, await ask(id, query, { is_forced: true }))
        } catch (error) {
          // The other tiles are still computed; this one keeps its old answer.
          failure ??= error
        }
      }
    }
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askNext))
    if (failure !== null) showToast({ text: errorText(failure) })
    setRefreshing(false)
  }
  useEffect(() => {
    if (minutes === 0) return undefined
    const timer = setInterval(() => void refresh(), minutes * MINUTE_MS)
    return () => clearInterval(timer)
  }, [id, minutes])
  return { refresh: () => void refresh(), is_refreshing }
}

/** Says how old the oldest answer on the board is. */
export function BoardAge(): VNode | null {
  const client = useQueryClient()
  const { id } = useProject()
  const [, setTurn] = useState(0)
  useEffect(() => {
    const draw = (): void => setTurn((turn) => turn + 1)
    const timer = setInterval(draw, MINUTE_MS / 2)
    let is_due = false
    const stop = client.getQueryCache().subscribe(() => {
      // Answers arrive many at a time, and while the page is being drawn.
      if (is_due) return
      is_due = true
      setTimeout(() => {
        is_due = false
        draw()
      }, 100)
    })
    return () => {
      clearInterval(timer)
      stop()
    }
  }, [client])
  const shown = client.getQueryCache().findAll({ queryKey: ['query', id], type: 'active' })
  const times = shown.flatMap(
    ({ state }) => (state.data as AnswerOf | undefined)?.last_refresh ?? [],
  )
  const oldest = times.toSorted()[0]
  return oldest === undefined ? null : <span class={style.age}>computed {formatAgo(oldest)}</span>
}
