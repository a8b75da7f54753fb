/** The page of events: a live list of incoming events, with filters and the properties of each. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { type LiveEventList, useLiveEvents } from '../../api/calls/live-events.ts'
import {
  type EventListFilters,
  eventsQuery,
  type ListedEvent,
  useEventList,
} from '../../api/events.ts'
import { ROW_FILES } from '../../api/exports.ts'
import { usePerson } from '../../api/persons/persons.ts'
import { saveRows } from '../../parts/answer/save-file.ts'
import { ButtonLink, IconButton } from '../../parts/button.tsx'
import { useWidth } from '../../parts/charts/use-width.ts'
import { Toggle } from '../../parts/fields/choice.tsx'
import { EventPicker } from '../../parts/fields/event-picker.tsx'
import { PropertyFilters, useFilters } from '../../parts/filters/property-filters.tsx'
import { formatNumber } from '../../parts/format.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { Menu } from '../../parts/overlays/menu.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { Table } from '../../parts/table.tsx'
import { useProject } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { ColumnChoice, tableColumns, useColumns } from './columns.tsx'
import { EventDetail } from './event-detail.tsx'
import style from './events.module.css'
import { Warnings } from './warnings.tsx'

/** Draws the list. */
export function EventsPage(): VNode {
  const [event, setEvent] = useParam('event')
  const [person, setPerson] = useParam('person')
  const [properties, setProperties] = useFilters()
  const [is_live, setLive] = useState(true)
  const [columns, setColumns] = useColumns()
  const filters = { event: event || null, person: person || null, properties }
  const list = useEventList(filters)
  const pages = list.data?.pages
  const newest = pages?.[0]?.results[0]?.timestamp
  const live = useLiveEvents(filters, pages === undefined ? null : (newest ?? LONG_AGO), is_live)
  const event_names = event === '' ? [] : [event]
  // New events are followed from the list on: without one nothing is connecting.
  const is_followed = is_live && (pages !== undefined || list.error === null)
  return (
    <>
      <PageHead title="Events" aside={is_followed && <LiveState live={live} />}>
        <Toggle label="Live" is_on={is_live} onChange={setLive} />
        <ColumnChoice columns={columns} event_names={event_names} onChange={setColumns} />
        <ExportMenu filters={filters} />
      </PageHead>
      <div class={style.filters}>
        <EventPicker value={filters.event} onChange={(name) => setEvent(name ?? '')} />
        {person !== '' && <PersonChip uuid={person} onRemove={() => setPerson('')} />}
        <PropertyFilters
          filters={properties}
          onChange={setProperties}
          has_key
          event_names={event_names}
        />
      </div>
      <Warnings />
      <Loaded of={list} skeleton={<SkeletonBlock height={480} />}>
        {(data) => {
          const listed = data.pages.flatMap(({ results }) => results)
          const events = joined(live.events, listed)
          return events.length === 0 ? (
            <NoEvents is_filtered={[event, person, ...properties].some((one) => one !== '')} />
          ) : (
            <EventTable events={events} columns={columns} />
          )
        }}
      </Loaded>
      <ShowMore list={list} text="Show older" />
    </>
  )
}

type PersonChipProps = { readonly uuid: string; readonly onRemove: () => void }

/** The person whose events alone are listed, with the way to the person's page. */
function PersonChip({ uuid, onRemove }: PersonChipProps): VNode {
  const name = usePerson(uuid).data?.name ?? uuid
  return (
    <span class={style.person}>
      <Link href={`/persons/${encodeURIComponent(uuid)}`}>{name}</Link>
      <IconButton
        icon="close"
        label={`Show events of others than ${name} too`}
        onClick={onRemove}
      />
    </span>
  )
}

/** A project without events is followed from its beginning. */
const LONG_AGO = '2000-01-01T00:00:00Z'

/** The number of events that have come in, and how many of them are not listed. */
function LiveState({
  live: { total, missed, connection },
}: {
  readonly live: LiveEventList
}): VNode {
  const came = total === 0 ? 'waiting for events' : `${formatNumber(total)} received`
  const left = missed === 0 ? '' : `, about ${formatNumber(missed)} too fast to be listed`
  const text = connection === 'connected' ? `${came}${left}` : UNCONNECTED[connection]
  return <span class={style.state}>{text}</span>
}

const UNCONNECTED = {
  connecting: 'connecting…',
  blocked: 'new events cannot be received: a browser extension or a proxy may be blocking them',
  refused: 'new events are refused',
} as const

function ExportMenu({ filters }: { readonly filters: EventListFilters }): VNode {
  const { id } = useProject()
  return (
    <Menu
      label="Export"
      icon="download"
      items={ROW_FILES.map((file) => ({
        text: `Download ${file.text}`,
        onSelect: () => void saveRows(id, eventsQuery(filters), { name: 'events', file }),
      }))}
    />
  )
}

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
        <p>Events appear here a moment after your site or app sends them.</p>
        <ButtonLink href="/start" look="main">
          Get started
        </ButtonLink>
      </EmptyNote>
    )
  }
  return (
    <EmptyNote title="No event matches" icon="filter">
      <p>Remove a filter, or wait: new events that match appear here.</p>
    </EmptyNote>
  )
}

/** From this width on, in px, an event is shown beside the list. */
const BESIDE_PX = 900

type EventTableProps = {
  readonly events: readonly ListedEvent[]
  readonly columns: readonly string[]
}

function EventTable({ events, columns }: EventTableProps): VNode {
  const [open, setOpen] = useState<ListedEvent | null>(null)
  const [box, width] = useWidth<HTMLDivElement>()
  const is_beside = width >= BESIDE_PX
  return (
    <div ref={box} class={open !== null && is_beside ? style.split : undefined}>
      <Table
        label="Events"
        columns={tableColumns(open !== null && is_beside ? [] : columns)}
        rows={events}
        rowKey={({ id }) => id}
        open_key={open?.id ?? null}
        onOpen={setOpen}
        height_max={720}
      />
      {open && (
        <EventDetail
          key={open.id}
          event={open}
          is_beside={is_beside}
          onClose={() => setOpen(null)}
        />
      )}
    </div>
  )
}
