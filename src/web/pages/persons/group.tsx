/** One group at `/persons/group/:type/:key`: properties, events, persons and groups that came with it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { useGroupTypes } from '../../api/definitions.ts'
import { type ListedEvent, senderOf, useEventsOf } from '../../api/events.ts'
import {
  deleteGroup,
  type GroupListed,
  groupAddress,
  nameOfGroup,
  type RelatedActor,
  useGroup,
  useGroupFlags,
  useRelated,
} from '../../api/persons/groups.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import { formatMoment } from '../../parts/format.ts'
import { eventTitle } from '../../parts/names.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { Menu } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { Table, type TableColumn } from '../../parts/table.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { EventDetail } from '../events/event-detail.tsx'
import { FlagList } from './flag-list.tsx'
import style from './persons.module.css'
import { Properties } from './properties.tsx'

type GroupViewProps = { readonly group_type_index: number; readonly group_key: string }

/** The group of a type and a key. */
export function GroupView({ group_type_index, group_key }: GroupViewProps): VNode {
  const missing = (
    <EmptyNote title="Group not found" icon="persons">
      <p>
        A group has a page when your site or server has called{' '}
        <code>posthog.group(type, key, properties)</code>.
      </p>
    </EmptyNote>
  )
  return (
    <Loaded of={useGroup(group_type_index, group_key)} title="Group" missing={missing}>
      {(group) => <OpenGroup group={group} />}
    </Loaded>
  )
}

const VIEWS = [
  { value: 'events', text: 'Events' },
  { value: 'persons', text: 'Persons' },
  { value: 'groups', text: 'Groups' },
  { value: 'flags', text: 'Flags' },
] as const

type GroupProps = { readonly group: GroupListed }

function OpenGroup({ group }: GroupProps): VNode {
  const [view, setView] = useParam('view', 'events')
  const [is_deleting, setDeleting] = useState(false)
  const may_edit = useMayEdit('group')
  const { group_type_index, group_key, group_properties } = group
  const types = useGroupTypes().data
  const type = types?.find((one) => one.group_type_index === group_type_index)?.group_type
  const chosen = VIEWS.find(({ value }) => value === view)?.value ?? 'events'
  const View = PARTS[chosen]
  const filters = encodeURIComponent(JSON.stringify([eventsOfGroup(group)]))
  return (
    <>
      <PageHead title={nameOfGroup(group_key, group_properties)}>
        <ButtonLink href={`/events?filters=${filters}`} icon="events">
          Live events
        </ButtonLink>
        {may_edit && (
          <Menu
            label="Actions of the group"
            items={[
              {
                text: 'Delete',
                icon: 'trash',
                is_danger: true,
                onSelect: () => setDeleting(true),
              },
            ]}
          />
        )}
      </PageHead>
      <Facts group={group} type={type} />
      <div class={style.split}>
        <section aria-label="History">
          <Choice label="Show" options={VIEWS} value={chosen} onChange={setView} />
          <div class={style.view}>
            <View group={group} />
          </div>
        </section>
        {type === undefined ? (
          <SkeletonBlock height={200} />
        ) : (
          <Properties
            holder={{ kind: 'group', group_type_index, group_type: type, group_key }}
            properties={group_properties}
          />
        )}
      </div>
      {is_deleting && <Delete group={group} onClose={() => setDeleting(false)} />}
    </>
  )
}

type FactsProps = GroupProps & { readonly type: string | undefined }

function Facts({ group, type }: FactsProps): VNode {
  const { timezone } = useProject()
  const { group_type_index, group_key, created_at } = group
  return (
    <dl class={style.facts}>
      <div>
        <dt>Type</dt>
        <dd>{type ?? group_type_index}</dd>
      </div>
      <div>
        <dt>Key</dt>
        <dd>
          <span class={style.id}>
            <code>{group_key}</code>
            <CopyButton text={group_key} label={`Copy ${group_key}`} look="quiet" />
          </span>
        </dd>
      </div>
      <div>
        <dt>First seen</dt>
        <dd>{formatMoment(created_at, timezone)}</dd>
      </div>
    </dl>
  )
}

type DeleteGroupProps = GroupProps & { readonly onClose: () => void }

function Delete({ group, onClose }: DeleteGroupProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const { group_type_index, group_key, group_properties } = group
  const remove = async (): Promise<void> => {
    await deleteGroup(id, group)
    navigate(`/persons?groups=${group_type_index}`)
    showToast({ text: 'Group deleted' })
  }
  return (
    <ConfirmDialog title="Delete this group" action="Delete" onConfirm={remove} onClose={onClose}>
      <p>
        The properties of <strong>{nameOfGroup(group_key, group_properties)}</strong> are deleted
        permanently. Events keep its key <code>{group_key}</code>.
      </p>
      <p>
        When your site or server calls <code>posthog.group()</code> with this key again, there is a
        new group with the properties of that call.
      </p>
    </ConfirmDialog>
  )
}

/** The condition of events that came with a group. */
const eventsOfGroup = ({ group_type_index, group_key }: GroupListed) =>
  ({
    type: 'event',
    key: `$group_${group_type_index}`,
    operator: 'exact',
    value: [group_key],
  }) as const

function Events({ group }: GroupProps): VNode {
  const list = useEventsOf({ properties: [eventsOfGroup(group)] })
  const [open, setOpen] = useState<ListedEvent | null>(null)
  const events = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <Loaded
        of={list}
        skeleton={<SkeletonBlock height={320} />}
        isEmpty={() => events.length === 0}
        empty={
          <EmptyNote title="No events" icon="events">
            <p>
              Events come with a group when they have its key in <code>$groups</code>.
            </p>
          </EmptyNote>
        }
      >
        {() => (
          <Table
            label="Events of the group"
            columns={EVENT_COLUMNS}
            rows={events}
            rowKey={({ id }) => id}
            onOpen={setOpen}
            height_max={720}
          />
        )}
      </Loaded>
      <ShowMore list={list} text="Show older" />
      {open && <EventDetail event={open} onClose={() => setOpen(null)} />}
    </>
  )
}

const EVENT_COLUMNS: readonly TableColumn<ListedEvent>[] = [
  { name: 'event', title: 'Event', cell: ({ event }) => eventTitle(event) },
  { name: 'person', title: 'Person', cell: senderOf },
  {
    name: 'time',
    title: 'Time',
    is_number: true,
    cell: ({ timestamp }) => <Ago iso={timestamp} has_clock />,
  },
]

const Persons = ({ group }: GroupProps): VNode => <Related group={group} type="person" />
const Groups = ({ group }: GroupProps): VNode => <Related group={group} type="group" />

function Flags({ group }: GroupProps): VNode {
  const types = useGroupTypes().data
  const { group_type_index, group_key } = group
  const type = types?.find((one) => one.group_type_index === group_type_index)?.group_type
  if (type === undefined) return <SkeletonBlock height={200} />
  return <TypedFlags group_type_index={group_type_index} type={type} group_key={group_key} />
}

type TypedFlagsProps = {
  readonly group_type_index: number
  readonly type: string
  readonly group_key: string
}

function TypedFlags({ group_type_index, type, group_key }: TypedFlagsProps): VNode {
  const answer = useGroupFlags(group_type_index, type, group_key)
  return <FlagList of={answer} empty={`No flags are evaluated by ${type}`} />
}

const PARTS = { events: Events, persons: Persons, groups: Groups, flags: Flags } as const

type RelatedProps = GroupProps & { readonly type: RelatedActor['type'] }

const EMPTY_TITLES = {
  person: 'No person had events with this group in the last 90 days',
  group: 'No other group had events with this group in the last 90 days',
} as const

function Related({ group, type }: RelatedProps): VNode {
  const types = useGroupTypes().data
  const answer = useRelated(group.group_type_index, group.group_key)
  const ofType = (actors: readonly RelatedActor[]): readonly RelatedActor[] =>
    actors.filter((actor) => actor.type === type)
  return (
    <Loaded
      of={answer}
      isEmpty={(actors) => ofType(actors).length === 0}
      empty={<EmptyNote title={EMPTY_TITLES[type]} icon="persons" />}
    >
      {(actors) => (
        <ul class={style.list}>
          {ofType(actors).map((actor) => (
            <RelatedItem
              key={addressOf(actor)}
              actor={actor}
              type={types?.find((one) => one.group_type_index === typeIndexOf(actor))?.group_type}
            />
          ))}
        </ul>
      )}
    </Loaded>
  )
}

const typeIndexOf = (actor: RelatedActor): number | null =>
  actor.type === 'group' ? actor.group_type_index : null

const addressOf = (actor: RelatedActor): string =>
  actor.type === 'person'
    ? `/persons/${actor.uuid}`
    : groupAddress(actor.group_type_index, actor.group_key)

type RelatedItemProps = { readonly actor: RelatedActor; readonly type: string | undefined }

function RelatedItem({ actor, type }: RelatedItemProps): VNode {
  const name = actor.type === 'person' ? actor.name : nameOfGroup(actor.group_key, actor.properties)
  return (
    <li>
      <Link href={addressOf(actor)}>{name}</Link>
      {type !== undefined && <span class={style.why}>{type}</span>}
    </li>
  )
}
