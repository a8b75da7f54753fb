/** The events of a project: their names, how often they come, when they came last. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { useEventCounts, useEventDefinitions } from '../../api/data.ts'
import type { DefinedEvent } from '../../api/types/shown-definition.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { formatNumber } from '../../parts/format.ts'
import { ItemList, SearchField } from '../../parts/item-list.tsx'
import { eventTitle } from '../../parts/names.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { useParam } from '../../state/url.ts'
import { DataHead } from './data-head.tsx'
import { aboutText, marksText, visibleName } from './definition-text.ts'

const SENDERS = [
  { value: '', text: 'All' },
  { value: 'event_custom', text: 'Your own' },
  { value: 'event_posthog', text: 'From SDKs' },
] as const

const ORDERS = [
  { value: '', text: 'By name' },
  { value: '-last_seen_at', text: 'Last seen' },
] as const

/** The list. */
export function EventDefinitionList(): VNode {
  const [search] = useParam('search')
  const [from, setFrom] = useParam('from')
  const [order, setOrder] = useParam('order')
  const event_type = SENDERS.find(({ value }) => value === from)?.value ?? ''
  const ordering = ORDERS.find(({ value }) => value === order)?.value ?? ''
  const list = useEventDefinitions({ search, event_type, ordering })
  const counts = useEventCounts()
  return (
    <>
      <DataHead />
      <div class={style.controls}>
        <Choice label="Show" options={SENDERS} value={event_type} onChange={setFrom} />
        <Choice label="Order" options={ORDERS} value={ordering} onChange={setOrder} />
        <SearchField label="Search events" />
      </div>
      <ItemList list={list} empty={<NoEvents is_searched={search !== '' || event_type !== ''} />}>
        {(event) => <EventItem key={event.id} event={event} count={counts(event.name)} />}
      </ItemList>
    </>
  )
}

type EventItemProps = {
  readonly event: DefinedEvent
  /** Events of 30 days; null while it is not known. */
  readonly count: number | null
}

function EventItem({ event, count }: EventItemProps): VNode {
  const title = eventTitle(event.name)
  const about = aboutText(event, title)
  const marks = marksText(event)
  const often = count === null ? '' : `${formatNumber(count)} in 30 days`
  return (
    <li>
      <span class={style.what}>
        <Link href={`/data/events/${event.id}`}>{visibleName(title)}</Link>
        {about !== '' && <span>{about}</span>}
      </span>
      <span class={style.release}>{[often, marks].filter((one) => one !== '').join(', ')}</span>
      <span class={style.when}>
        <Ago iso={event.last_seen_at} />
      </span>
    </li>
  )
}

function NoEvents({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="No events found" icon="search" />
  return (
    <EmptyNote title="No events yet" icon="data">
      <p>
        The names of events appear here when the first ones come in. Then they can be described,
        tagged and hidden.
      </p>
      <ButtonLink href="/start" look="main">
        Get started
      </ButtonLink>
    </EmptyNote>
  )
}
