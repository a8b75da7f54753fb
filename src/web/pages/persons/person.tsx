/** One person: properties, events by session, cohorts, flags with their reasons, merges that can be undone. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import {
  changePerson,
  type PersonListed,
  type PersonMergeListed,
  useFlagReasons,
  usePerson,
  usePersonCohorts,
  usePersonMerges,
} from '../../api/persons/persons.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import { formatAgo, formatMoment } from '../../parts/format.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { Menu } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { FlagList } from './flag-list.tsx'
import style from './persons.module.css'
import { Properties } from './properties.tsx'
import { Timeline } from './timeline.tsx'
import { UndoMerge } from './undo-merge.tsx'

/** The person of a UUID. */
export function PersonView({ uuid }: { readonly uuid: string }): VNode {
  const missing = (
    <EmptyNote title="Person not found" icon="persons">
      <p>The person may have been deleted, or merged into another one.</p>
      <ButtonLink href="/persons">All persons</ButtonLink>
    </EmptyNote>
  )
  return (
    <Loaded of={usePerson(uuid)} title="Person" missing={missing}>
      {(person) => <OpenPerson person={person} />}
    </Loaded>
  )
}

const VIEWS = [
  { value: 'events', text: 'Events' },
  { value: 'cohorts', text: 'Cohorts' },
  { value: 'flags', text: 'Flags' },
  { value: 'merges', text: 'Merges' },
] as const

type PersonProps = { readonly person: PersonListed }

function OpenPerson({ person }: PersonProps): VNode {
  const [view, setView] = useParam('view', 'events')
  const [is_deleting, setDeleting] = useState(false)
  const may_edit = useMayEdit('person')
  const chosen = VIEWS.find(({ value }) => value === view)?.value ?? 'events'
  const View = PARTS[chosen]
  return (
    <>
      <PageHead title={person.name}>
        <ButtonLink href={`/events?person=${person.uuid}`} icon="events">
          Live events
        </ButtonLink>
        {may_edit && (
          <Menu
            label="Actions of the person"
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
      <Facts person={person} />
      <div class={style.split}>
        <section aria-label="History">
          <Choice label="Show" options={VIEWS} value={chosen} onChange={setView} />
          <div class={style.view}>
            <View person={person} />
          </div>
        </section>
        <Properties holder={{ kind: 'person', uuid: person.uuid }} properties={person.properties} />
      </div>
      {is_deleting && <Delete person={person} onClose={() => setDeleting(false)} />}
    </>
  )
}

const IDS_SHOWN = 5

function Facts({ person }: PersonProps): VNode {
  const { timezone } = useProject()
  const { distinct_ids, created_at, is_identified } = person
  return (
    <dl class={style.facts}>
      <div>
        <dt>First seen</dt>
        <dd>{formatMoment(created_at, timezone)}</dd>
      </div>
      <div>
        <dt>Identified</dt>
        <dd>{is_identified ? 'yes' : 'no'}</dd>
      </div>
      <div>
        <dt>Distinct ids</dt>
        <dd>
          {distinct_ids.slice(0, IDS_SHOWN).map((id) => (
            <span key={id} class={style.id}>
              <code>{id}</code>
              <CopyButton text={id} label={`Copy ${id}`} look="quiet" />
            </span>
          ))}
          {distinct_ids.length > IDS_SHOWN && `and ${distinct_ids.length - IDS_SHOWN} more`}
        </dd>
      </div>
    </dl>
  )
}

function Events({ person }: PersonProps): VNode {
  return <Timeline uuid={person.uuid} />
}

function Cohorts({ person }: PersonProps): VNode {
  return (
    <Loaded
      of={usePersonCohorts(person.uuid)}
      isEmpty={({ results }) => results.length === 0}
      empty={<EmptyNote title="Not in a cohort" icon="persons" />}
    >
      {({ results }) => (
        <ul class={style.list}>
          {results.map(({ id, name }) => (
            <li key={id}>
              <Link href={`/cohorts/${id}`}>{name || `Cohort ${id}`}</Link>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}

function Flags({ person }: PersonProps): VNode {
  const answer = useFlagReasons(person.distinct_ids[0] ?? '')
  return <FlagList of={answer} empty="The project has no flags" />
}

function Merges({ person }: PersonProps): VNode {
  const [undone, setUndone] = useState<PersonMergeListed | null>(null)
  const may_edit = useMayEdit('person')
  return (
    <Loaded
      of={usePersonMerges(person.uuid)}
      isEmpty={({ results }) => results.length === 0}
      empty={
        <EmptyNote title="No merge to undo" icon="persons">
          <p>
            When a visitor logs in, the visitor before and the user after become one person. An id
            that was no person before is only added.
          </p>
        </EmptyNote>
      }
    >
      {({ results }) => (
        <>
          <ul class={style.list}>
            {results.map((merge) => (
              <li key={merge.id}>
                <span class={style.why}>
                  {merge.distinct_ids.join(', ')} · {formatAgo(merge.merged_at)}
                </span>
                {may_edit && <Button onClick={() => setUndone(merge)}>Undo this merge</Button>}
              </li>
            ))}
          </ul>
          {undone && <UndoMerge person={person} merge={undone} onClose={() => setUndone(null)} />}
        </>
      )}
    </Loaded>
  )
}

const PARTS = { events: Events, cohorts: Cohorts, flags: Flags, merges: Merges } as const

type DeleteProps = PersonProps & { readonly onClose: () => void }

function Delete({ person, onClose }: DeleteProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [has_events, setHasEvents] = useState(false)
  const remove = async (): Promise<void> => {
    await changePerson(id, 'DELETE', [`${person.uuid}/?delete_events=${String(has_events)}`])
    navigate('/persons')
    showToast({ text: 'Person deleted' })
  }
  return (
    <ConfirmDialog title="Delete this person" action="Delete" onConfirm={remove} onClose={onClose}>
      <p>
        Properties and ids of <strong>{person.name}</strong> are deleted permanently.
      </p>
      <label class={style.check}>
        <input
          type="checkbox"
          checked={has_events}
          onChange={(event) => setHasEvents(event.currentTarget.checked)}
        />
        Delete all events of this person too
      </label>
    </ConfirmDialog>
  )
}
