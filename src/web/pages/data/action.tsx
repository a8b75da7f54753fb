/** One action at `/data/actions/:id`, or a new one at `/data/actions/new`. Unsaved changes are in the address. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { changeAction, readAction, useAction, useEventCount } from '../../api/action-editing.ts'
import type { ShownAction } from '../../api/types/shown-action.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { EditedPage, requireShown } from '../../parts/fields/edited-page.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { TagsField } from '../../parts/fields/tags-field.tsx'
import { formatNumber } from '../../parts/format.ts'
import { isEqual } from '../../parts/is-equal.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { errorText } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Skeleton } from '../../parts/notes/skeleton.tsx'
import { applyChange } from '../../parts/overlays/apply-change.ts'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { Menu, type MenuItem } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { type ChangeOptions, hashOf, useHashQuery } from '../../state/url.ts'
import {
  bodyOf,
  copyOf,
  type DraftedAction,
  draftOf,
  filtersOf,
  MATCHES,
  NEW_ACTION,
  readDraft,
} from './action-draft.ts'
import { ActionSteps } from './action-steps.tsx'
import { exploreHref, visibleName } from './definition-text.ts'

/** The page of a stored action. */
export function ActionView({ id }: { readonly id: string }): VNode {
  const missing = (
    <EmptyNote title="Action not found" icon="data">
      <ButtonLink href="/data/actions">All actions</ButtonLink>
    </EmptyNote>
  )
  return (
    <Loaded of={useAction(id)} title="Action" missing={missing}>
      {(action) =>
        action.deleted ? <DeletedAction action={action} /> : <ActionEditor action={action} />
      }
    </Loaded>
  )
}

function DeletedAction({ action }: { readonly action: ShownAction }): VNode {
  const { id } = useProject()
  const may_edit = useMayEdit('action')
  const restore = (): void =>
    void applyChange(() => changeAction(id, action.id, { deleted: false }))
  return (
    <>
      <PageHead title={visibleName(action.name)} />
      <EmptyNote title="Action deleted" icon="data">
        {may_edit && <Button onClick={restore}>Restore</Button>}
        <ButtonLink href="/data/actions">All actions</ButtonLink>
      </EmptyNote>
    </>
  )
}

type ChangeAction = (changes: Partial<DraftedAction>, options?: ChangeOptions) => void

/** The editor; `action` is null for a new one. */
export function ActionEditor({ action }: { readonly action: ShownAction | null }): VNode {
  const [changed, setDraft] = useHashQuery<DraftedAction>(readDraft)
  const stored = action === null ? NEW_ACTION : draftOf(action)
  if (changed === undefined) return <Skeleton lines={4} />
  const draft = changed ?? stored
  const change: ChangeAction = (changes, options) => setDraft({ ...draft, ...changes }, options)
  return <OpenAction action={action} draft={draft} stored={stored} change={change} />
}

type OpenActionProps = {
  readonly action: ShownAction | null
  readonly draft: DraftedAction
  readonly stored: DraftedAction
  readonly change: ChangeAction
}

function OpenAction({ action, draft, stored, change }: OpenActionProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const may_edit = useMayEdit('action')
  const latest = useRef(draft)
  latest.current = draft
  const save = async (): Promise<void> => {
    if (action !== null) requireShown(stored, draftOf(await readAction(id, action.id)))
    const body = bodyOf(draft, action === null ? null : stored)
    const saved = await changeAction(id, action?.id ?? null, body)
    showToast({ text: 'Saved' })
    // Changes that were made while the server stored it stay. Back must not lead to a second new action.
    if (isEqual(latest.current, draft))
      navigate(`/data/actions/${saved.id}`, { replace: action === null })
  }
  const patterns = draft.steps.flatMap((_, at) => MATCHES.map(({ of }) => `steps__${at}__${of}`))
  return (
    <EditedPage
      title={action === null ? 'New action' : visibleName(action.name)}
      create={action === null ? 'Create action' : null}
      is_changed={!isEqual(draft, stored)}
      may_edit={may_edit}
      fields={['name', ...patterns]}
      onSave={save}
      onRevert={() => navigate(action === null ? '/data/actions' : `/data/actions/${action.id}`)}
      aside={action !== null && <ExploreLink action={action} />}
      menu={action !== null && <ActionMenu action={action} draft={draft} may_edit={may_edit} />}
    >
      {(error) => (
        <fieldset class={style.column} disabled={!may_edit} aria-label="The action">
          <div class={style.card}>
            <NameFields draft={draft} change={change} error={error} />
            <TagsField tags={draft.tags} onChange={(tags) => change({ tags })} />
          </div>
          <section class={style.card} aria-labelledby="steps">
            <h2 id="steps">Which events</h2>
            <ActionSteps
              steps={draft.steps}
              onChange={(steps, options) => change({ steps }, options)}
              error={error}
            />
            <MatchCount draft={draft} />
          </section>
        </fieldset>
      )}
    </EditedPage>
  )
}

type ActionFormProps = Pick<OpenActionProps, 'change' | 'draft'>

function NameFields({
  draft,
  change,
  error,
}: ActionFormProps & { readonly error: unknown }): VNode {
  return (
    <div class={style.pair}>
      <TextField
        label="Name"
        value={draft.name}
        maxLength={400}
        onInput={(name) => change({ name }, { is_typing: true })}
        error={fieldError(error, 'name')}
      />
      <TextField
        label="Description"
        value={draft.description}
        maxLength={4000}
        onInput={(description) => change({ description }, { is_typing: true })}
      />
    </div>
  )
}

/** The number of events that are the action as it is drafted. */
function MatchCount({ draft }: { readonly draft: DraftedAction }): VNode {
  const filters = filtersOf(draft.steps)
  const { data, error, isFetching } = useEventCount(filters)
  if (filters !== null && error !== null && !isFetching) {
    return <p class={style.warning}>{errorText(error)}</p>
  }
  const count = filters === null ? 0 : data
  return (
    <p class={style.reach} aria-live="polite">
      <strong>{count === undefined ? '…' : formatNumber(count)}</strong>{' '}
      {count === 1 ? 'event' : 'events'} in the last 30 days
    </p>
  )
}

function ExploreLink({ action: { id, name } }: { readonly action: ShownAction }): VNode {
  const href = exploreHref({ series: [{ kind: 'ActionsNode', id, name }] })
  return (
    <ButtonLink href={href} icon="explore" look="quiet">
      Explore
    </ButtonLink>
  )
}

type ActionMenuProps = {
  readonly action: ShownAction
  readonly draft: DraftedAction
  readonly may_edit: boolean
}

function ActionMenu({ action, draft, may_edit }: ActionMenuProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [is_deleting, setDeleting] = useState(false)
  const filters = [{ type: 'hogql', key: `matchesAction(${action.id})`, operator: 'exact' }]
  const duplicate = async (): Promise<void> =>
    navigate(`/data/actions/new${await hashOf(copyOf(action, draft))}`)
  const remove = async (): Promise<void> => {
    await changeAction(id, action.id, { deleted: true })
    navigate('/data/actions')
    const restore = (): void =>
      void applyChange(() => changeAction(id, action.id, { deleted: false }))
    showToast({ text: 'Action deleted', action: { text: 'Undo', run: restore } })
  }
  const items: readonly (MenuItem | null)[] = [
    {
      text: 'List in Events',
      icon: 'events',
      href: `/events?filters=${encodeURIComponent(JSON.stringify(filters))}`,
    },
    ...(may_edit
      ? ([
          { text: 'Duplicate', icon: 'copy', onSelect: () => void duplicate() },
          null,
          { text: 'Delete', icon: 'trash', is_danger: true, onSelect: () => setDeleting(true) },
        ] as const)
      : []),
  ]
  return (
    <>
      <Menu label="Actions of the action" items={items} />
      {is_deleting && (
        <ConfirmDialog
          title="Delete this action"
          action="Delete"
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          <p>
            Charts that use <strong>{action.name}</strong> then count no event. The events stay.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
