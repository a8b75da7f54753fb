/** Persons: the list with a search, and one person at `/persons/:uuid`. */
import type { VNode } from 'preact'
import { useRoute } from 'wouter-preact'
import { useGroupTypes } from '../../api/definitions.ts'
import { type PersonListed, usePersons } from '../../api/persons/persons.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { PropertyFilters, useFilters } from '../../parts/filters/property-filters.tsx'
import type { OfferedProperties } from '../../parts/filters/property-list.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { Table, type TableColumn } from '../../parts/table.tsx'
import { SEARCH_LENGTH_MAX, useParam, useParamsChange } from '../../state/url.ts'
import { GroupView } from './group.tsx'
import { GroupTable } from './groups.tsx'
import { PersonView } from './person.tsx'
import style from './persons.module.css'

/** The page. */
export function PersonsPage(): VNode {
  const [is_person, params] = useRoute('/persons/:uuid')
  const [is_group, group] = useRoute('/persons/group/:type/:key')
  if (is_group) {
    const group_key = decodeURIComponent(group.key)
    const key = `${group.type} ${group_key}`
    return <GroupView key={key} group_type_index={Number(group.type)} group_key={group_key} />
  }
  return is_person && params.uuid !== undefined ? (
    <PersonView key={params.uuid} uuid={params.uuid} />
  ) : (
    <PersonList />
  )
}

const SKELETON_PX = 480

function PersonList(): VNode {
  const [search, setSearch] = useParam('search')
  const [type] = useParam('groups')
  const [filters, setFilters] = useFilters()
  const change = useParamsChange()
  const types = useGroupTypes().data ?? []
  const chosen = types.find(({ group_type_index }) => String(group_type_index) === type)
  const label = chosen === undefined ? 'Search email, name or id' : 'Search name or key'
  const options = [
    { value: '', text: 'Persons' },
    ...types.map((one) => ({ value: String(one.group_type_index), text: one.group_type })),
  ]
  return (
    <>
      <PageHead title="Persons" />
      <div class={style.controls}>
        {types.length > 0 && (
          <Choice
            label="Show"
            options={options}
            value={type}
            // Conditions on persons say nothing of groups.
            onChange={(groups) => change({ groups: groups || null, filters: null })}
          />
        )}
        <input
          type="search"
          class={`field ${style.search}`}
          placeholder={label}
          maxLength={SEARCH_LENGTH_MAX}
          aria-label={label}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value, { is_typing: true })}
        />
        <PropertyFilters
          key={type}
          filters={filters}
          onChange={setFilters}
          offered={
            chosen === undefined
              ? PERSON_FILTERS
              : { owners: ['group'], group_type_index: chosen.group_type_index }
          }
          has_key
        />
      </div>
      {chosen === undefined ? (
        <PersonTable search={search} filters={filters} />
      ) : (
        <GroupTable group_type_index={chosen.group_type_index} search={search} filters={filters} />
      )}
    </>
  )
}

const PERSON_FILTERS: OfferedProperties = { owners: ['person', 'cohort'] }

type PersonTableProps = {
  readonly search: string
  readonly filters: readonly PropertyCondition[]
}

function PersonTable({ search, filters }: PersonTableProps): VNode {
  const list = usePersons(search, filters)
  const persons = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <Loaded
        of={list}
        skeleton={<SkeletonBlock height={SKELETON_PX} />}
        isEmpty={() => persons.length === 0}
        empty={<NoPersons is_searched={search !== '' || filters.length > 0} />}
      >
        {() => (
          <Table
            label="Persons"
            columns={COLUMNS}
            rows={persons}
            rowKey={({ uuid }) => uuid}
            hrefOf={({ uuid }) => `/persons/${uuid}`}
            height_max={720}
          />
        )}
      </Loaded>
      <ShowMore list={list} text="Show more" />
    </>
  )
}

function NoPersons({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="No persons found" icon="search" />
  return (
    <EmptyNote title="No persons yet" icon="persons">
      <p>
        A visitor becomes a person when your site calls <code>posthog.identify('an id')</code>.
      </p>
      <ButtonLink href="/start" look="main">
        Get started
      </ButtonLink>
    </EmptyNote>
  )
}

/** A property of a person as text; – when it has none. */
function readProperty(name: string): (person: PersonListed) => string {
  return ({ properties }) => {
    const value = properties[name]
    return typeof value === 'string' && value !== '' ? value : '–'
  }
}

/** The name beside the email, as the search finds both. */
function PersonName({ name, properties }: PersonListed): VNode {
  const { name: own } = properties
  return (
    <>
      {`${name} `}
      {typeof own === 'string' && own !== name && <small class={style.name}>{own}</small>}
    </>
  )
}

const COLUMNS: readonly TableColumn<PersonListed>[] = [
  { name: 'name', title: 'Person', cell: (person) => <PersonName {...person} /> },
  {
    name: 'country',
    title: 'Country',
    is_wide_only: true,
    cell: readProperty('$geoip_country_name'),
  },
  { name: 'browser', title: 'Browser', is_wide_only: true, cell: readProperty('$browser') },
  {
    name: 'ids',
    title: 'Ids',
    is_number: true,
    is_wide_only: true,
    cell: ({ distinct_ids }) => distinct_ids.length,
  },
  {
    name: 'created',
    title: 'First seen',
    is_number: true,
    cell: ({ created_at }) => <Ago iso={created_at} />,
  },
]
