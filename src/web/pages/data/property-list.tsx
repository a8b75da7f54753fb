/** The properties of events, persons, groups and sessions: their names and types. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { type DefinedOwner, usePropertyDefinitions } from '../../api/data.ts'
import { useGroupTypes } from '../../api/definitions.ts'
import type { DefinedProperty } from '../../api/types/shown-definition.ts'
import { Choice } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { ItemList, SearchField } from '../../parts/item-list.tsx'
import { propertyTitle, SESSION_PROPERTIES } from '../../parts/names.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { useParam } from '../../state/url.ts'
import { DataHead } from './data-head.tsx'
import { aboutText, marksText, typeText, visibleName } from './definition-text.ts'

/** The list. `?of=` has the owner: none for events, `person`, `session`, or the index of a group type. */
export function PropertyDefinitionList(): VNode {
  const [of, setOf] = useParam('of')
  const types = useGroupTypes().data ?? []
  const owners = [
    { value: '', text: 'Events' },
    { value: 'person', text: 'Persons' },
    ...types.map(({ group_type, group_type_index }) => ({
      value: String(group_type_index),
      text: `Groups: ${group_type}`,
    })),
    { value: 'session', text: 'Sessions' },
  ]
  return (
    <>
      <DataHead />
      <div class={style.controls}>
        <Choice label="Properties of" options={owners} value={of} onChange={setOf} />
        <SearchField label="Search properties" />
      </div>
      {of === 'session' ? <SessionProperties /> : <OwnProperties of={of} />}
    </>
  )
}

/** The owner in an address; events for anything unknown. */
export function ownerIn(of: string): DefinedOwner {
  if (/^[0-4]$/.test(of)) return { type: 'group', group_type_index: Number(of) }
  return { type: of === 'person' ? 'person' : 'event', group_type_index: null }
}

function OwnProperties({ of }: { readonly of: string }): VNode {
  const [search] = useParam('search')
  const list = usePropertyDefinitions(ownerIn(of), search)
  return (
    <ItemList list={list} empty={<NoProperties is_searched={search !== ''} />}>
      {(property) => <PropertyItem key={property.id} property={property} of={of} />}
    </ItemList>
  )
}

function PropertyItem({
  property,
  of,
}: {
  readonly property: DefinedProperty
  readonly of: string
}) {
  const title = propertyTitle(property.name)
  const about = aboutText(property, title)
  const marks = marksText(property)
  return (
    <li>
      <span class={style.what}>
        <Link href={propertyHref(property, of)}>{visibleName(title)}</Link>
        {about !== '' && <span>{about}</span>}
      </span>
      <span class={style.release}>
        {typeText(property.property_type)}
        {marks !== '' && `, ${marks}`}
      </span>
    </li>
  )
}

/** The address of a property's page; a definition does not say of which group type it is. */
export const propertyHref = ({ id }: DefinedProperty, of: string): string =>
  `/data/properties/${id}${of === '' ? '' : `?of=${encodeURIComponent(of)}`}`

/** Computed from the events of each session: they are always the same. */
function SessionProperties(): VNode {
  const [search] = useParam('search')
  const words = search.toLowerCase().split(/\s+/)
  const found = SESSION_PROPERTIES.filter(({ name }) => {
    const text = `${propertyTitle(name)} ${name}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  if (found.length === 0) return <NoProperties is_searched />
  return (
    <ul class={style.list}>
      {found.map(({ name, property_type }) => (
        <li key={name}>
          <span class={style.what}>
            <strong>{propertyTitle(name)}</strong>
            <span>{name}</span>
          </span>
          <span class={style.release}>{typeText(property_type)}</span>
        </li>
      ))}
    </ul>
  )
}

function NoProperties({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="No properties found" icon="search" />
  return (
    <EmptyNote title="No properties yet" icon="data">
      <p>
        Properties appear here with the first event, person or group that has them. Then they can be
        described, tagged and hidden, and read as another type.
      </p>
    </EmptyNote>
  )
}
