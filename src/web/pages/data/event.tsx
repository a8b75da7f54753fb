/** One event at `/data/events/:id`: its description, how often it came, its properties. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { useDefinition, useEventCounts, usePropertiesOfEvent } from '../../api/data.ts'
import type { DefinedEvent } from '../../api/types/shown-definition.ts'
import { ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { formatNumber } from '../../parts/format.ts'
import { eventTitle, propertyTitle } from '../../parts/names.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { DefinitionEditor } from './definition.tsx'
import { exploreHref, visibleName } from './definition-text.ts'
import { FactsCard } from './facts-card.tsx'
import { propertyHref } from './property-list.tsx'

/** The page. */
export function EventView({ id }: { readonly id: string }): VNode {
  const missing = (
    <EmptyNote title="Event not found" icon="data">
      <p>It was removed from the lists, and has not been seen since.</p>
      <ButtonLink href="/data/events">All events</ButtonLink>
    </EmptyNote>
  )
  return (
    <Loaded
      of={useDefinition<DefinedEvent>('event_definitions/', id)}
      title="Event"
      missing={missing}
    >
      {(event) => <OpenEvent event={event} />}
    </Loaded>
  )
}

function OpenEvent({ event }: { readonly event: DefinedEvent }): VNode {
  const { name } = event
  const title = visibleName(eventTitle(name))
  const count = useEventCounts()(name)
  return (
    <DefinitionEditor
      family="event_definitions/"
      definition={event}
      title={title}
      href={`/data/events/${event.id}`}
      list_href="/data/events"
      aside={
        <ButtonLink
          href={exploreHref({ series: [{ kind: 'EventsNode', event: name }] })}
          icon="explore"
          look="quiet"
        >
          {count === null ? 'Explore' : `${formatNumber(count)} in 30 days`}
        </ButtonLink>
      }
      links={[
        {
          text: 'List in Events',
          icon: 'events',
          href: `/events?event=${encodeURIComponent(name)}`,
        },
      ]}
    >
      {() => (
        <>
          <PropertiesCard event={name} />
          <FactsCard definition={event} last_seen_at={event.last_seen_at} owner={event.owner} />
        </>
      )}
    </DefinitionEditor>
  )
}

/** The properties that were seen on the event. */
function PropertiesCard({ event }: { readonly event: string }): VNode {
  const list = usePropertiesOfEvent(event)
  const properties = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <section class={style.card} aria-labelledby="properties">
      <h2 id="properties">Properties</h2>
      <Loaded of={list}>
        {() => (
          <ul class={style.who}>
            {properties.map((property) => (
              <li key={property.id} class={style.reach}>
                <Link href={propertyHref(property, '')}>
                  {visibleName(propertyTitle(property.name))}
                </Link>
              </li>
            ))}
            {properties.length === 0 && 'None in the last days.'}
          </ul>
        )}
      </Loaded>
      <ShowMore list={list} text="Show more" />
    </section>
  )
}
