/** Waits for the first event, and shows the latest one. */
import type { UseQueryResult } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import type { ApiError } from '../../api/calls/call.ts'
import type { ListedEvent } from '../../api/events.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { eventTitle } from '../../parts/names.ts'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import style from './start.module.css'

type ArrivalCardProps = { readonly latest: UseQueryResult<ListedEvent | null, ApiError> }

/** Draws the card. */
export function ArrivalCard({ latest }: ArrivalCardProps): VNode {
  return (
    <section class={style.card} aria-label="Arrival" aria-live="polite">
      <Loaded of={latest} skeleton={<SkeletonBlock height={96} />}>
        {(event) => (event === null ? <Waiting /> : <Arrived event={event} />)}
      </Loaded>
    </section>
  )
}

function Waiting(): VNode {
  return (
    <div class={style.arrival}>
      <span class={style.pulse} aria-hidden="true" />
      <div>
        <h2>Waiting for the first event</h2>
        <p class={style.hint}>It shows up here within two seconds.</p>
      </div>
    </div>
  )
}

function Arrived({ event }: { readonly event: ListedEvent }): VNode {
  const url = event.properties['$current_url']
  return (
    <>
      <div class={style.arrival}>
        <span class={style.arrived}>
          <Icon name="check" />
        </span>
        <div>
          <h2>Events are arriving</h2>
          <p class={style.hint}>
            The last one: <strong>{eventTitle(event.event)}</strong> from{' '}
            <code>{event.distinct_id}</code>, <Ago iso={event.timestamp} />
          </p>
          {typeof url === 'string' && <p class={style.address}>{url}</p>}
        </div>
      </div>
      <div class={style.actions}>
        <ButtonLink href="/web" look="main" icon="web">
          Web analytics
        </ButtonLink>
        <ButtonLink href="/events" icon="events">
          All events
        </ButtonLink>
      </div>
    </>
  )
}
