/** Lists the project's ingestion warnings: the reasons why events were dropped or changed. */
import type { VNode } from 'preact'
import { type IngestionWarning, useWarnings } from '../../api/events.ts'
import { Ago } from '../../parts/ago.tsx'
import { formatAgo, formatNumber } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import style from './events.module.css'

/** A line with the number of warnings that opens their list; nothing where there are none, or no right to read them. */
export function Warnings(): VNode | null {
  const { data } = useWarnings()
  if (data === undefined || data.count === 0) return null
  return (
    <details class={style.warnings}>
      <summary>
        <Icon name="alert" size={16} /> Missing an event? {formatNumber(data.count)}{' '}
        {data.count === 1 ? 'warning' : 'warnings'}, the last{' '}
        {formatAgo(data.results[0]?.timestamp ?? '')}
      </summary>
      <ul>
        {data.results.map((warning) => (
          <li key={warning.id}>
            <strong>{sentenceOf(warning)}</strong>
            <Ago iso={warning.timestamp} />
            <code>{JSON.stringify(warning.details)}</code>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** `event_too_large` reads as `Event too large`. */
function sentenceOf({ type }: IngestionWarning): string {
  const words = type.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
