/** The age of an answer from the server's cache, which keeps that of a chart by day for two hours, and a way to compute it again. */
import { useQueryClient } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type AnswerOf, type AnyQuery, ask } from '../../api/calls/ask.ts'
import { now } from '../../state/clock.ts'
import { useProject } from '../../state/project.tsx'
import { Button } from '../button.tsx'
import { formatAgo } from '../format.ts'
import { errorText } from '../notes/error-note.tsx'
import { showToast } from '../overlays/toast.tsx'

type AnswerAgeProps = {
  readonly query: AnyQuery
  /** Undefined while the query has none of its own. */
  readonly answer: AnswerOf | undefined
}

/** The age up to which an answer is as good as new. */
const RECENT_MS = 60_000

/** Draws a button, or nothing for an answer of the last minute. */
export function AnswerAge({ query, answer }: AnswerAgeProps): VNode | null {
  const { id } = useProject()
  const client = useQueryClient()
  const [is_running, setRunning] = useState(false)
  const { last_refresh } = answer ?? {}
  if (!last_refresh || now().getTime() - Date.parse(last_refresh) < RECENT_MS) return null
  const refresh = async (): Promise<void> => {
    setRunning(true)
    try {
      client.setQueryData(['query', id, query], await ask(id, query, { is_forced: true }))
    } catch (error) {
      showToast({ text: errorText(error) })
    }
    setRunning(false)
  }
  return (
    <Button
      look="quiet"
      disabled={is_running}
      aria-busy={is_running}
      onClick={() => void refresh()}
    >
      Computed {formatAgo(last_refresh)} · Refresh
    </Button>
  )
}
