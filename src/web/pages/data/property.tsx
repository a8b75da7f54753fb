/** One property at `/data/properties/:id`: its description, its type, its most frequent values. */
import type { VNode } from 'preact'
import { useDefinition } from '../../api/data.ts'
import { usePropertyValues } from '../../api/definitions.ts'
import type { DefinedProperty } from '../../api/types/shown-definition.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { formatNumber } from '../../parts/format.ts'
import { propertyTitle } from '../../parts/names.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { PropertyValue } from '../../parts/property-value.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { type ChangeDefinition, DefinitionEditor } from './definition.tsx'
import { exploreHref, typeText, visibleName } from './definition-text.ts'
import { FactsCard } from './facts-card.tsx'
import { ownerIn, propertyHref } from './property-list.tsx'

/** The page. */
export function PropertyView({ id }: { readonly id: string }): VNode {
  const missing = (
    <EmptyNote title="Property not found" icon="data">
      <p>It was removed from the lists, and has not been seen since.</p>
      <ButtonLink href="/data/properties">All properties</ButtonLink>
    </EmptyNote>
  )
  const property = useDefinition<DefinedProperty>('property_definitions/', id)
  return (
    <Loaded of={property} title="Property" missing={missing}>
      {(loaded) => <OpenProperty property={loaded} />}
    </Loaded>
  )
}

function OpenProperty({ property }: { readonly property: DefinedProperty }): VNode {
  const [of] = useParam('of')
  const { name, type, type_check } = property
  const { group_type_index } = ownerIn(of)
  // A group's property says not of which group type it is.
  const is_known = type !== 'group' || group_type_index !== null
  const breakdown = { property: name, type, ...(group_type_index !== null && { group_type_index }) }
  return (
    <DefinitionEditor
      family="property_definitions/"
      definition={property}
      title={visibleName(propertyTitle(name))}
      href={propertyHref(property, of)}
      list_href={`/data/properties${of === '' ? '' : `?of=${encodeURIComponent(of)}`}`}
      aside={
        is_known && (
          <ButtonLink
            href={exploreHref({
              series: [{ kind: 'EventsNode', event: null }],
              breakdownFilter: { breakdowns: [breakdown] },
            })}
            icon="explore"
            look="quiet"
          >
            Events by it
          </ButtonLink>
        )
      }
      links={[]}
    >
      {(change) => (
        <>
          {type_check !== null && type_check.unreadable_count > 0 && (
            <TypeCard property={property} check={type_check} change={change} />
          )}
          {is_known && <ValuesCard property={property} group_type_index={group_type_index} />}
          <FactsCard definition={property} />
        </>
      )}
    </DefinitionEditor>
  )
}

type TypeCardProps = {
  readonly property: DefinedProperty
  readonly check: NonNullable<DefinedProperty['type_check']>
  readonly change: ChangeDefinition
}

/** Values that the property's type cannot hold, and a type that can. */
function TypeCard({ property, check, change }: TypeCardProps): VNode {
  const may_edit = useMayEdit('property_definition')
  const { value_count, unreadable_count, examples, suggested_type } = check
  const type = typeText(suggested_type)
  return (
    <section class={style.card} aria-labelledby="type">
      <h2 id="type">Values of another type</h2>
      <p class={style.warning}>
        {formatNumber(unreadable_count)} of {formatNumber(value_count)} values cannot be read as{' '}
        {typeText(property.property_type)}.
      </p>
      <p class={style.hint}>For instance: {examples.join(', ')}</p>
      {may_edit && (
        <Button onClick={() => change({ property_type: suggested_type })}>Read as {type}</Button>
      )}
    </section>
  )
}

type ValuesCardProps = {
  readonly property: DefinedProperty
  readonly group_type_index: number | null
}

/** The most frequent values. */
function ValuesCard({ property, group_type_index }: ValuesCardProps): VNode {
  const { name, type } = property
  const owner = { owner: type, ...(group_type_index !== null && { group_type_index }) } as const
  const values = usePropertyValues(owner, name, '')
  return (
    <section class={style.card} aria-labelledby="values">
      <h2 id="values">Values</h2>
      <Loaded
        of={values}
        isEmpty={(list) => list.length === 0}
        empty={<p class={style.hint}>None was seen in the last days.</p>}
      >
        {(list) => (
          <dl class={style.facts}>
            {list.map(({ name: value, count }) => (
              <div key={String(value)}>
                <dt>
                  <PropertyValue value={value} />
                </dt>
                <dd>{formatNumber(count)}</dd>
              </div>
            ))}
          </dl>
        )}
      </Loaded>
    </section>
  )
}
