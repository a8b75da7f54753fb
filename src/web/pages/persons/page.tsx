/** Persons: the list with a search, and one person at `/persons/:uuid`. */
import type { VNode } from 'preact'
import { useLocation, useRoute } from 'wouter-preact'
import { type PersonListed, usePersons } from '../../api/persons.ts'
import { Button } from '../../parts/button.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import { formatAgo } from '../../parts/format.ts'
import { Loaded } from '../../parts/loaded.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { SkeletonBlock } from '../../parts/skeleton.tsx'
import { Table, type TableColumn } from '../../parts/table.tsx'
import { useParam } from '../../state/url.ts'
import { PersonView } from './person.tsx'
import style from './persons.module.css'

/** The page. */
export function PersonsPage(): VNode {
  const [is_person, params] = useRoute('/persons/:uuid')
  return is_person && params.uuid !== undefined ? (
    <PersonView key={params.uuid} uuid={decodeURIComponent(params.uuid)} />
  ) : (
    <PersonList />
  )
}

const SKELETON_PX = 480

function PersonList(): VNode {
  const [search, setSearch] = useParam('search')
  const [, navigate] = useLocation()
  const list = usePersons(search)
  const persons = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <PageHead title="Persons" />
      <input
        type="search"
        class={`field ${style.search}`}
        placeholder="Search by e-mail, name or id"
        aria-label="Search by e-mail, name or id"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value, { is_typing: true })}
      />
      <Loaded
        of={list}
        skeleton={<SkeletonBlock height={SKELETON_PX} />}
        isEmpty={() => persons.length === 0}
        empty={<NoPersons is_searched={search !== ''} />}
      >
        {() => (
          <Table
            label="Persons"
            columns={COLUMNS}
            rows={persons}
            rowKey={({ uuid }) => uuid}
            onOpen={({ uuid }) => navigate(`/persons/${uuid}`)}
            height_max={720}
          />
        )}
      </Loaded>
      {list.hasNextPage && (
        <div class={style.more}>
          <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {list.isFetchingNextPage ? 'Loading…' : 'Show more'}
          </Button>
        </div>
      )}
    </>
  )
}

function NoPersons({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="Nobody is found" icon="search" />
  return (
    <EmptyNote title="No persons yet" icon="persons">
      <p>
        A visitor becomes a person when your site calls <code>posthog.identify('an id')</code>.
      </p>
    </EmptyNote>
  )
}

/** A property of a person as text; – when it has none. */
function shown(name: string): (person: PersonListed) => string {
  return ({ properties }) => {
    const value = properties[name]
    return typeof value === 'string' && value !== '' ? value : '–'
  }
}

const COLUMNS: readonly TableColumn<PersonListed>[] = [
  { name: 'name', title: 'Person', cell: ({ name }) => name },
  { name: 'country', title: 'Country', is_wide_only: true, cell: shown('$geoip_country_name') },
  { name: 'browser', title: 'Browser', is_wide_only: true, cell: shown('$browser') },
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
    cell: ({ created_at }) => <time dateTime={created_at}>{formatAgo(created_at)}</time>,
  },
]
