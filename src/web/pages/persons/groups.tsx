/** Groups of one type: the list with a search, and one group at `/persons/group/:type/:key`. */
import type { VNode } from 'preact'
import { Link, useLocation } from 'wouter-preact'
import { ApiError } from '../../api/call.ts'
import { useGroupTypes } from '../../api/definitions.ts'
import {
  type GroupListed,
  type RelatedActor,
  useGroup,
  useGroups,
  useRelated,
} from '../../api/groups.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import { formatAgo, formatMoment } from '../../parts/format.ts'
import { Loaded } from '../../parts/loaded.tsx'
import { propertyTitle } from '../../parts/names.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { SkeletonBlock } from '../../parts/skeleton.tsx'
import { Table, type TableColumn } from '../../parts/table.tsx'
import { useProject } from '../../state/project.tsx'
import style from './persons.module.css'

type GroupTableProps = { readonly group_type_index: number; readonly search: string }

/** Draws the groups whose key or name contains the search. */
export function GroupTable({ group_type_index, search }: GroupTableProps): VNode {
  const [, navigate] = useLocation()
  const list = useGroups(group_type_index, search)
  const groups = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <Loaded
        of={list}
        skeleton={<SkeletonBlock height={480} />}
        isEmpty={() => groups.length === 0}
        empty={<EmptyNote title="No group is found" icon="search" />}
      >
        {() => (
          <Table
            label="Groups"
            columns={COLUMNS}
            rows={groups}
            rowKey={({ group_key }) => group_key}
            onOpen={({ group_key }) => navigate(groupAddress(group_type_index, group_key))}
            height_max={720}
          />
        )}
      </Loaded>
      <ShowMore list={list} text="Show more" />
    </>
  )
}

const groupAddress = (group_type_index: number, group_key: string): string =>
  `/persons/group/${group_type_index}/${encodeURIComponent(group_key)}`

function nameOf(group_key: string, properties: Readonly<Record<string, unknown>>): string {
  const name = properties['name']
  return typeof name === 'string' && name !== '' ? name : group_key
}

const COLUMNS: readonly TableColumn<GroupListed>[] = [
  {
    name: 'name',
    title: 'Group',
    cell: ({ group_key, group_properties }) => nameOf(group_key, group_properties),
  },
  { name: 'key', title: 'Key', is_wide_only: true, cell: ({ group_key }) => group_key },
  {
    name: 'properties',
    title: 'Properties',
    is_number: true,
    is_wide_only: true,
    cell: ({ group_properties }) => Object.keys(group_properties).length,
  },
  {
    name: 'created',
    title: 'First seen',
    is_number: true,
    cell: ({ created_at }) => <time dateTime={created_at}>{formatAgo(created_at)}</time>,
  },
]

type GroupViewProps = { readonly group_type_index: number; readonly group_key: string }

/** The page of one group: its properties, its persons, the way to its events. */
export function GroupView({ group_type_index, group_key }: GroupViewProps): VNode {
  const answer = useGroup(group_type_index, group_key)
  if (answer.error instanceof ApiError && answer.error.status === 404) {
    return <EmptyNote title="There is no such group" icon="persons" />
  }
  return <Loaded of={answer}>{(group) => <OpenGroup group={group} />}</Loaded>
}

function OpenGroup({ group }: { readonly group: GroupListed }): VNode {
  const { timezone } = useProject()
  const { group_type_index, group_key, group_properties, created_at } = group
  const type = useGroupTypes().data?.find((one) => one.group_type_index === group_type_index)
  const text = group_key.replace(/[\\']/g, (letter) => `\\${letter}`)
  const filter = {
    type: 'hogql',
    key: `$group_${group_type_index} = '${text}'`,
    operator: 'exact',
    value: null,
  }
  const filters = encodeURIComponent(JSON.stringify([filter]))
  return (
    <>
      <PageHead title={nameOf(group_key, group_properties)}>
        <ButtonLink href={`/events?filters=${filters}`} icon="events">
          Events
        </ButtonLink>
      </PageHead>
      <dl class={style.facts}>
        <div>
          <dt>Type</dt>
          <dd>{type?.group_type ?? group_type_index}</dd>
        </div>
        <div>
          <dt>Key</dt>
          <dd>
            <code>{group_key}</code>
          </dd>
        </div>
        <div>
          <dt>First seen</dt>
          <dd>{formatMoment(created_at, timezone)}</dd>
        </div>
      </dl>
      <div class={style.split}>
        <section aria-label="Members">
          <h2>Persons and groups with common events</h2>
          <Related group={group} />
        </section>
        <GroupProperties properties={group_properties} />
      </div>
    </>
  )
}

function Related({ group }: { readonly group: GroupListed }): VNode {
  return (
    <Loaded
      of={useRelated(group.group_type_index, group.group_key)}
      isEmpty={(actors) => actors.length === 0}
      empty={<EmptyNote title="Nobody yet" icon="persons" />}
    >
      {(actors) => (
        <ul class={style.list}>
          {actors.map((actor) => (
            <RelatedItem key={relatedKey(actor)} actor={actor} />
          ))}
        </ul>
      )}
    </Loaded>
  )
}

const relatedKey = (actor: RelatedActor): string =>
  actor.type === 'person' ? actor.uuid : `${actor.group_type_index} ${actor.group_key}`

function RelatedItem({ actor }: { readonly actor: RelatedActor }): VNode {
  if (actor.type === 'person') {
    return (
      <li>
        <Link href={`/persons/${actor.uuid}`}>{actor.name}</Link>
      </li>
    )
  }
  const { group_type_index, group_key, properties } = actor
  return (
    <li>
      <Link href={groupAddress(group_type_index, group_key)}>{nameOf(group_key, properties)}</Link>
    </li>
  )
}

type GroupPropertiesProps = { readonly properties: GroupListed['group_properties'] }

function GroupProperties({ properties }: GroupPropertiesProps): VNode {
  const entries = Object.entries(properties)
  return (
    <section class={style.properties} aria-label="Properties">
      <header>
        <h2>Properties</h2>
      </header>
      {entries.length === 0 && <EmptyNote title="No properties" />}
      <dl>
        {entries.map(([key, value]) => (
          <div key={key}>
            <dt title={key}>{propertyTitle(key)}</dt>
            <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
