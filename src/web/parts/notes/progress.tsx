/** The progress of a long query, and a button that cancels it. */
import type { VNode } from 'preact'
import type { AnswerProgress } from '../../api/calls/long-answer.ts'
import { Button } from '../button.tsx'
import { formatNumber } from '../format.ts'
import style from './progress.module.css'

type ProgressProps = {
  readonly progress: AnswerProgress
  /** Missing where the page has a button for it. */
  readonly onCancel?: () => void
}

/** Draws the bar; the server estimates the total, and does not always know it. */
export function Progress({ progress, onCancel }: ProgressProps): VNode {
  const { rows_read, estimated_rows_total, bytes_read, time_elapsed } = progress
  const is_known = rows_read > 0 && estimated_rows_total >= rows_read
  return (
    <div class={style.progress}>
      <progress
        aria-label="Progress of the query"
        {...(is_known && { value: rows_read, max: estimated_rows_total })}
      />
      <p role="status">
        {time_elapsed} s
        {is_known &&
          `, ${formatNumber(rows_read)} of about ${formatNumber(estimated_rows_total)} rows`}
        {bytes_read > 0 && `, ${formatNumber(Math.round(bytes_read / 1e6))} MB read`}
      </p>
      {onCancel && <Button onClick={onCancel}>Cancel</Button>}
    </div>
  )
}
