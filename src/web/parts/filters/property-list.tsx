/** Every property that a filter or a breakdown can name, in groups: of the event, the person, groups, the session; and cohorts. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import {
  type ListedGroupType,
  type PropertyName,
  useCohorts,
  useGroupTypes,
  usePropertyNames,
} from '../../api/definitions.ts'
import { Combobox, type ComboOption } from '../fields/combobox.tsx'
import { propertyTitle, SESSION_PROPERTIES } from '../names.ts'
import type { PropertyCondition, PropertyOwner } from './conditions.ts'

type PropertyListProps = {
  readonly event_names?: readonly string[]
  readonly onPick: (condition: PropertyCondition) => void
  /** Everything by default. */
  readonly offered?: OfferedProperties
}

/** The owners whose properties are offered. */
export type OfferedProperties = {
  readonly owners: readonly (PropertyOwner | 'cohort')[]
  /** Of groups, this type alone. */
  readonly group_type_index?: number
}

const EVERYTHING: OfferedProperties = { owners: ['event', 'person', 'group', 'session', 'cohort'] }
/** Breakdowns can name these. */
export const NO_COHORTS: OfferedProperties = { owners: ['event', 'person', 'group', 'session'] }

type NamedOwner = {
  readonly owner: PropertyOwner | 'cohort'
  readonly group_type_index?: number
  readonly title: string
}

type PickedProperty = NamedOwner & { readonly name: string; readonly text: string }

/** Draws a search field and the groups; calls `onPick` with a condition that has no value yet (cohorts are complete). */
export function PropertyList({
  event_names = [],
  onPick,
  offered = EVERYTHING,
}: PropertyListProps): VNode {
  const [search, setSearch] = useState('')
  const isOffered = (owner: NamedOwner['owner']): boolean => offered.owners.includes(owner)
  const events = usePropertyNames({
    owner: 'event',
    search,
    event_names,
    is_wanted: isOffered('event'),
  })
  const persons = usePropertyNames({ owner: 'person', search, is_wanted: isOffered('person') })
  const cohorts = useCohorts(isOffered('cohort'))
  const groups = useOfferedGroups(offered)
  const group_names = useGroupNames(groups, search)
  const matchesSearch = (text: string): boolean =>
    text.toLowerCase().includes(search.trim().toLowerCase())
  const properties: readonly PickedProperty[] = [
    ...namedProperties(
      { owner: 'event', title: 'Event' },
      isOffered('event') ? events.data?.results : [],
    ),
    ...namedProperties(
      { owner: 'person', title: 'Person' },
      isOffered('person') ? persons.data?.results : [],
    ),
    ...group_names,
    ...namedProperties(
      { owner: 'session', title: 'Session' },
      isOffered('session') ? SESSION_PROPERTIES : [],
    ).filter(({ text, name }) => matchesSearch(`${text} ${name}`)),
    ...(isOffered('cohort') ? (cohorts.data?.results ?? []) : [])
      .filter(({ name }) => matchesSearch(name))
      .map(({ id, name }) => ({
        owner: 'cohort' as const,
        title: 'Cohort',
        name: String(id),
        text: name,
      })),
  ]
  const options = properties.map((one, index) => optionOf(one, index))
  return (
    <Combobox
      label="Property"
      placeholder={isOffered('cohort') ? 'Search properties and cohorts' : 'Search properties'}
      // Properties of persons alone would be pushed down by those of events.
      options={events.isLoading || persons.isLoading ? [] : options}
      onSearch={setSearch}
      is_loading={events.isFetching || persons.isFetching}
      onPick={({ value }) => {
        const picked = properties[Number(value)]
        if (picked !== undefined) onPick(conditionOf(picked))
      }}
    />
  )
}

const namedProperties = (
  owner: NamedOwner,
  list: readonly { readonly name: string }[] = [],
): readonly PickedProperty[] =>
  list
    .map(({ name }) => ({ ...owner, name, text: propertyTitle(name) }))
    .toSorted((one, other) => Number(isTechnical(one)) - Number(isTechnical(other)))

/** Properties that SDKs send for themselves have no readable name; they come last. */
const isTechnical = ({ text }: PickedProperty): boolean => text.startsWith('$')

function optionOf({ title, name, text, owner }: PickedProperty, index: number): ComboOption {
  const option = { value: String(index), text, group: title }
  return owner === 'cohort' || text === name ? option : { ...option, hint: name }
}

function conditionOf({ owner, name, group_type_index }: PickedProperty): PropertyCondition {
  if (owner === 'cohort') return { type: 'cohort', key: 'id', operator: 'in', value: Number(name) }
  const condition = { type: owner, key: name, operator: 'exact' }
  return group_type_index === undefined ? condition : { ...condition, group_type_index }
}

function useOfferedGroups(offered: OfferedProperties): readonly ListedGroupType[] {
  const types = useGroupTypes().data ?? []
  if (!offered.owners.includes('group')) return []
  const { group_type_index: only = null } = offered
  return types.filter(({ group_type_index }) => only === null || group_type_index === only)
}

/** Properties of every group type; a project has at most five, and hooks must not be called in a loop of changing length. */
function useGroupNames(
  types: readonly ListedGroupType[],
  search: string,
): readonly PickedProperty[] {
  const lists = [
    useNamesOfType(types, 0, search),
    useNamesOfType(types, 1, search),
    useNamesOfType(types, 2, search),
    useNamesOfType(types, 3, search),
    useNamesOfType(types, 4, search),
  ]
  return lists.flat()
}

function useNamesOfType(
  types: readonly ListedGroupType[],
  index: number,
  search: string,
): readonly PickedProperty[] {
  const type = types.find(({ group_type_index }) => group_type_index === index)
  const request = {
    owner: 'group',
    group_type_index: index,
    search,
    is_wanted: type !== undefined,
  } as const
  const { data } = usePropertyNames(request)
  if (type === undefined) return []
  return namedProperties(
    { owner: 'group', group_type_index: index, title: `Group: ${type.group_type}` },
    data?.results,
  )
}

/** The type of a condition's property: `String`, `Numeric`, `Boolean`, `DateTime`; '' while it is not known. */
export function usePropertyType({ type, key, group_type_index }: PropertyCondition): string {
  const owner = type === 'cohort' || type === 'hogql' ? 'session' : type
  const { data } = usePropertyNames({
    owner,
    search: key,
    ...(group_type_index !== undefined && { group_type_index }),
  })
  const list: readonly Pick<PropertyName, 'name' | 'property_type'>[] =
    type === 'session' ? SESSION_PROPERTIES : (data?.results ?? [])
  return list.find(({ name }) => name === key)?.property_type ?? ''
}
