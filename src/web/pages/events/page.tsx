/** The page of events: what comes in, live, with filters and everything that an event says. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type ListedEvent, useEventList, useLiveEvents } from '../../api/events.ts'
import { Button } from '../../parts/button.tsx'
import { Toggle } from '../../parts/choice.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import { EventPicker } from '../../parts/event-picker.tsx'
import { PropertyFilters, useFilters } from '../../parts/filters/property-filters.tsx'
import { formatAgo } from '../../parts/format.ts'
import { Loaded } from '../../parts/loaded.tsx'
import { eventTitle } from '../../parts/names.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { SkeletonBlock } from '../../parts/skeleton.tsx'
import { Table, type TableColumn } from '../../parts/table.tsx'
import { useParam } from '../../state/url.ts'
import { EventDetail } from './event-detail.tsx'
import style from './events.module.css'

/** Draws the list. */
export function EventsPage(): VNode {
  const [event, setEvent] = useParam('event')
  const [properties, setProperties] = useFilters()
  const [is_live, setLive] = useState(true)
  const filters = { event: event === '' ? null : event, properties }
  const list = useEventList(filters)
  const pages = list.data?.pages
  const newest = pages?.[0]?.results[0]?.timestamp
  const live = useLiveEvents(filters, pages === undefined ? null : (newest ?? LONG_AGO), is_live)
  const is_filtered = event !== '' || properties.length > 0
  return (
    <>
      <PageHead title="Events">
        <Toggle label="Live" is_on={is_live} onChange={setLive} />
      </PageHead>
      <div class={style.filters}>
        <EventPicker value={filters.event} onChange={(name) => setEvent(name ?? '')} />
        <PropertyFilters
          filters={properties}
          onChange={setProperties}
          has_key
          {...(event !== '' && { event_names: [event] })}
        />
      </div>
      <Loaded of={list} skeleton={<SkeletonBlock height={480} />}>
        {(data) => {
          const events = joined(
            live,
            data.pages.flatMap(({ results }) => results),
          )
          return events.length === 0 ? (
            <NoEvents is_filtered={is_filtered} />
          ) : (
            <EventTable events={events} />
          )
        }}
      </Loaded>
      {list.hasNextPage && (
        <div class={style.more}>
          <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {list.isFetchingNextPage ? 'Loading…' : 'Show older'}
          </Button>
        </div>
      )}
    </>
  )
}

/** A project without events is followed from its beginning. */
const LONG_AGO = '2000-01-01T00:00:00Z'

function joined(
  live: readonly ListedEvent[],
  listed: readonly ListedEvent[],
): readonly ListedEvent[] {
  const seen = new Set<string>()
  return [...live, ...listed].filter(({ id }) => {
    if (seen.has(id)) return false
    seen.add(id)
    return true
  })
}

function NoEvents({ is_filtered }: { readonly is_filtered: boolean }): VNode {
  if (!is_filtered) {
    return (
      <EmptyNote title="No events yet" icon="events">
        <p>Events show up here a moment after your site or app has sent them.</p>
      </EmptyNote>
    )
  }
  return (
    <EmptyNote title="No event matches" icon="filter">
      <p>Take a filter away, or wait: new events that match appear here.</p>
    </EmptyNote>
  )
}

function EventTable({ events }: { readonly events: readonly ListedEvent[] }): VNode {
  const [open_id, setOpenId] = useState<string | null>(null)
  const open = events.find(({ id }) => id === open_id)
  return (
    <>
      <Table
        label="Events"
        columns={COLUMNS}
        rows={events}
        rowKey={({ id }) => id}
        open_key={open_id}
        onOpen={({ id }) => setOpenId(id)}
        height_max={720}
      />
      {open && <EventDetail event={open} onClose={() => setOpenId(null)} />}
    </>
  )
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null

function personText({ person, distinct_id }: ListedEvent): string {
  const { name, email } = person?.properties ?? {}
  return textOf(email) ?? textOf(name) ?? distinct_id
}

const COLUMNS: readonly TableColumn<ListedEvent>[] = [
  { name: 'event', title: 'Event', cell: ({ event }) => eventTitle(event) },
  { name: 'person', title: 'Person', cell: personText },
  {
    name: 'url',
    title: 'URL or screen',
    is_wide_only: true,
    cell: ({ properties }) =>
      textOf(properties['$current_url']) ?? textOf(properties['$screen_name']) ?? '–',
  },
  {
    name: 'lib',
    title: 'Library',
    is_wide_only: true,
    cell: ({ properties }) => textOf(properties['$lib']) ?? '–',
  },
  {
    name: 'time',
    title: 'Time',
    is_number: true,
    cell: ({ timestamp }) => <time dateTime={timestamp}>{formatAgo(timestamp)}</time>,
  },
]
