/** The events of a person, grouped by session, the newest first. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type ListedEvent, useEventsOf } from '../../api/events.ts'
import { formatDuration, formatMoment, formatTime } from '../../parts/format.ts'
import { eventTitle } from '../../parts/names.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { useProject } from '../../state/project.tsx'
import { EventDetail } from '../events/event-detail.tsx'
import style from './persons.module.css'

/** Draws the sessions; a click on an event shows all of it. */
export function Timeline({ uuid }: { readonly uuid: string }): VNode {
  const list = useEventsOf({ person: uuid })
  const [open, setOpen] = useState<ListedEvent | null>(null)
  const events = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <Loaded
        of={list}
        isEmpty={() => events.length === 0}
        empty={<EmptyNote title="No events" icon="events" />}
      >
        {() =>
          sessionsOf(events).map((session) => (
            <SessionEvents key={session[0]?.id} events={session} onOpen={setOpen} />
          ))
        }
      </Loaded>
      <ShowMore list={list} text="Show older" />
      {open && <EventDetail event={open} onClose={() => setOpen(null)} />}
    </>
  )
}

/** Groups neighbouring events by session; an event without a session is a group. */
function sessionsOf(events: readonly ListedEvent[]): readonly (readonly ListedEvent[])[] {
  const sessions: ListedEvent[][] = []
  for (const event of events) {
    const current = sessions.at(-1)
    const id = event.properties['$session_id']
    if (current !== undefined && id !== undefined && current[0]?.properties['$session_id'] === id)
      current.push(event)
    else sessions.push([event])
  }
  return sessions
}

type SessionEventsProps = {
  readonly events: readonly ListedEvent[]
  readonly onOpen: (event: ListedEvent) => void
}

const MS_PER_S = 1000

function SessionEvents({ events, onOpen }: SessionEventsProps): VNode {
  const { timezone } = useProject()
  const [first, last] = [events.at(-1), events[0]]
  const seconds =
    first === undefined || last === undefined
      ? 0
      : (Date.parse(last.timestamp) - Date.parse(first.timestamp)) / MS_PER_S
  const began = formatMoment(first?.timestamp ?? '', timezone)
  return (
    <section class={style.session} aria-label={`Session of ${began}`}>
      <h2>
        {began}
        {events.length > 1 && (
          <span>
            {events.length} events in {formatDuration(seconds)}
          </span>
        )}
      </h2>
      <ul>
        {events.map((event) => (
          <li key={event.id}>
            <button type="button" onClick={() => onOpen(event)}>
              <span>{eventTitle(event.event)}</span>
              <span>{pathOf(event)}</span>
              <time dateTime={event.timestamp}>{formatTime(event.timestamp, timezone)}</time>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

function pathOf({ properties }: ListedEvent): string {
  const path = properties['$pathname'] ?? properties['$screen_name']
  return typeof path === 'string' ? path : ''
}
