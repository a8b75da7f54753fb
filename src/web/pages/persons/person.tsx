/** One person: properties, events by session, cohorts, flags with their reasons, merges that can be undone. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { ApiError } from '../../api/call.ts'
import {
  changePerson,
  type PersonListed,
  type PersonMergeListed,
  useFlagReasons,
  usePerson,
  usePersonCohorts,
  usePersonMerges,
} from '../../api/persons.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import { formatAgo, formatMoment } from '../../parts/format.ts'
import { Loaded } from '../../parts/loaded.tsx'
import { Menu } from '../../parts/menu.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { showToast } from '../../parts/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { PersonProperties } from './person-properties.tsx'
import style from './persons.module.css'
import { Timeline } from './timeline.tsx'

/** The person of a UUID. */
export function PersonView({ uuid }: { readonly uuid: string }): VNode {
  const answer = usePerson(uuid)
  if (answer.error instanceof ApiError && answer.error.status === 404) {
    return (
      <>
        <PageHead title="Person" />
        <EmptyNote title="There is no such person" icon="persons">
          <p>The person may have been deleted, or merged into another one.</p>
        </EmptyNote>
      </>
    )
  }
  return (
    <Loaded of={answer} title="Person">
      {(person) => <Opened person={person} />}
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

function Opened({ person }: PersonProps): VNode {
  const [view, setView] = useParam('view', 'events')
  const [is_deleting, setDeleting] = useState(false)
  const chosen = VIEWS.find(({ value }) => value === view)?.value ?? 'events'
  const View = PARTS[chosen]
  return (
    <>
      <PageHead title={person.name}>
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
      </PageHead>
      <Facts person={person} />
      <div class={style.split}>
        <section aria-label="History">
          <Choice label="Show" options={VIEWS} value={chosen} onChange={setView} />
          <div class={style.view}>
            <View person={person} />
          </div>
        </section>
        <PersonProperties person={person} />
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
      empty={<EmptyNote title="In no cohort" icon="cohorts" />}
    >
      {({ results }) => (
        <ul class={style.list}>
          {results.map(({ id, name }) => (
            <li key={id}>{name || `Cohort ${id}`}</li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}

function Flags({ person }: PersonProps): VNode {
  return (
    <Loaded
      of={useFlagReasons(person.distinct_ids[0] ?? '')}
      isEmpty={(flags) => Object.keys(flags).length === 0}
      empty={<EmptyNote title="The project has no flags" icon="flags" />}
    >
      {(flags) => (
        <ul class={style.list}>
          {Object.entries(flags).map(([key, { value, evaluation }]) => (
            <li key={key}>
              <code>{key}</code>
              <span class={value === false ? style.off : style.on}>{flagText(value)}</span>
              <span class={style.why}>{evaluation.description}</span>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}

function flagText(value: boolean | string): string {
  if (typeof value === 'string') return value
  return value ? 'on' : 'off'
}

function Merges({ person }: PersonProps): VNode {
  const [undone, setUndone] = useState<PersonMergeListed | null>(null)
  return (
    <Loaded
      of={usePersonMerges(person.uuid)}
      isEmpty={({ results }) => results.length === 0}
      empty={
        <EmptyNote title="Nobody was merged into this person" icon="persons">
          <p>When a visitor logs in, the visitor before and the user after become one person.</p>
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
                <Button onClick={() => setUndone(merge)}>Undo this merge</Button>
              </li>
            ))}
          </ul>
          {undone && <UndoMerge person={person} merge={undone} onClose={() => setUndone(null)} />}
        </>
      )}
    </Loaded>
  )
}

type UndoMergeProps = PersonProps & {
  readonly merge: PersonMergeListed
  readonly onClose: () => void
}

/** Says which ids would be whose before a merge is undone. */
function UndoMerge({ person, merge, onClose }: UndoMergeProps): VNode {
  const { id, timezone } = useProject()
  const leaving = new Set(merge.distinct_ids)
  const staying = person.distinct_ids.filter((one) => !leaving.has(one))
  const undo = async (): Promise<void> => {
    await changePerson(id, 'POST', [`${person.uuid}/undo_merge/`, { merge_id: merge.id }])
    showToast({ text: 'The merge is undone' })
  }
  return (
    <ConfirmDialog
      title="Undo this merge"
      action="Undo the merge"
      onConfirm={undo}
      onClose={onClose}
    >
      <p>
        The merge of {formatMoment(merge.merged_at, timezone)} is taken back: there are two persons
        again, each with its events.
      </p>
      <dl class={style.facts}>
        <div>
          <dt>{person.name} keeps</dt>
          <dd>{staying.join(', ') || 'no id'}</dd>
        </div>
        <div>
          <dt>The other person gets back</dt>
          <dd>{merge.distinct_ids.join(', ')}</dd>
        </div>
      </dl>
    </ConfirmDialog>
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
    showToast({ text: 'The person is deleted' })
  }
  return (
    <ConfirmDialog title="Delete this person" action="Delete" onConfirm={remove} onClose={onClose}>
      <p>
        Properties and ids of <strong>{person.name}</strong> are gone for good.
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
