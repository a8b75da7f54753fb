/** One flag at `/flags/:id`, or a new one at `/flags/new`. Unsaved changes are in the address. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { type ListedGroupType, useGroupTypes } from '../../api/definitions.ts'
import { changeFlag, readFlag, useFlag } from '../../api/targeting/flags.ts'
import type { ShownFlag } from '../../api/types/shown-flag.ts'
import { ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { EditedPage, requireShown } from '../../parts/fields/edited-page.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { isEqual } from '../../parts/is-equal.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Skeleton } from '../../parts/notes/skeleton.tsx'
import { applyChange } from '../../parts/overlays/apply-change.ts'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { Menu, type MenuItem } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { hashOf, useHashQuery } from '../../state/url.ts'
import { type ChangeDraft, ConditionList } from './condition-list.tsx'
import {
  bodyOf,
  copyOf,
  type DraftedFlag,
  draftOf,
  NEW_CONDITION,
  NEW_FLAG,
  readDraft,
} from './flag-draft.ts'
import { FlagSwitch } from './flag-switch.tsx'
import { CodeCard, FactsCard, TrialCard } from './side-cards.tsx'
import { ValueList } from './value-list.tsx'

/** The page of a stored flag. */
export function FlagView({ id }: { readonly id: string }): VNode {
  const missing = (
    <EmptyNote title="Flag not found" icon="flags">
      <p>It may have been deleted.</p>
      <ButtonLink href="/flags">All flags</ButtonLink>
    </EmptyNote>
  )
  return (
    <Loaded of={useFlag(id)} title="Flag" missing={missing}>
      {(flag) => <FlagEditor flag={flag} />}
    </Loaded>
  )
}

/** The editor; `flag` is null for a new one. */
export function FlagEditor({ flag }: { readonly flag: ShownFlag | null }): VNode {
  const [changed, setDraft] = useHashQuery<DraftedFlag>(readDraft)
  const stored = flag === null ? NEW_FLAG : draftOf(flag)
  if (changed === undefined) return <Skeleton lines={4} />
  const draft = changed ?? stored
  const change: ChangeDraft = (changes, options) => setDraft({ ...draft, ...changes }, options)
  return <OpenFlag flag={flag} draft={draft} stored={stored} change={change} />
}

type OpenFlagProps = FieldsProps & {
  readonly flag: ShownFlag | null
  readonly stored: DraftedFlag
}

function OpenFlag({ flag, draft, stored, change }: OpenFlagProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const types = useGroupTypes().data ?? []
  const may_edit = useMayEdit('feature_flag') && flag?.can_edit !== false
  const type = types.find(({ group_type_index }) => group_type_index === draft.group_type)
  const group_type = type?.group_type ?? null
  const is_changed = !isEqual(withoutSwitch(draft), withoutSwitch(stored))
  const latest = useRef(draft)
  latest.current = draft
  const save = async (): Promise<void> => {
    const saved = await saveDraft(id, flag, draft)
    showToast({ text: 'Saved' })
    // Changes that were made while the server stored it stay. Back must not lead to a second new flag.
    if (isEqual(latest.current, draft)) navigate(`/flags/${saved.id}`, { replace: flag === null })
  }
  return (
    <EditedPage
      title={flag?.key ?? 'New flag'}
      create={flag === null ? 'Create flag' : null}
      is_changed={is_changed}
      may_edit={may_edit}
      fields={['key']}
      onSave={save}
      onRevert={() => navigate(flag === null ? '/flags' : `/flags/${flag.id}`)}
      aside={flag !== null && <ActiveSwitch flag={flag} is_disabled={!may_edit} />}
      menu={flag !== null && <FlagMenu flag={flag} draft={draft} may_edit={may_edit} />}
    >
      {(error) => (
        <div class={style.split}>
          <fieldset class={style.column} disabled={!may_edit} aria-label="The flag">
            <div class={style.card}>
              <NameFields draft={draft} change={change} error={error} />
            </div>
            <section class={style.card} aria-labelledby="who">
              <h2 id="who">Who gets it</h2>
              {types.length > 0 && <OwnerField draft={draft} types={types} change={change} />}
              <ConditionList draft={draft} change={change} />
            </section>
            <section class={style.card} aria-labelledby="values">
              <h2 id="values">What they get</h2>
              <ValueList draft={draft} change={change} />
            </section>
          </fieldset>
          <div class={style.column}>
            {flag !== null && (
              <TrialCard flag={flag} group_type={group_type} is_changed={is_changed} />
            )}
            <CodeCard draft={draft} group_type={group_type} />
            {flag !== null && <FactsCard flag={flag} />}
          </div>
        </div>
      )}
    </EditedPage>
  )
}

async function saveDraft(
  project_id: number,
  flag: ShownFlag | null,
  draft: DraftedFlag,
): Promise<ShownFlag> {
  if (flag !== null) {
    const now = draftOf(await readFlag(project_id, flag.id))
    requireShown(withoutSwitch(draftOf(flag)), withoutSwitch(now))
  }
  return changeFlag(project_id, flag?.id ?? null, bodyOf(draft, flag))
}

const withoutSwitch = (draft: DraftedFlag): DraftedFlag => ({ ...draft, is_on: true })

type ActiveSwitchProps = { readonly flag: ShownFlag; readonly is_disabled: boolean }

/** Applies at once, also while other changes are not saved. */
function ActiveSwitch({ flag, is_disabled }: ActiveSwitchProps): VNode {
  if (flag.archived) return <span class={style.hint}>Archived</span>
  return <FlagSwitch flag={flag} label={flag.active ? 'On' : 'Off'} is_disabled={is_disabled} />
}

type FieldsProps = { readonly draft: DraftedFlag; readonly change: ChangeDraft }

function NameFields({ draft, change, error }: FieldsProps & { readonly error: unknown }): VNode {
  return (
    <div class={style.pair}>
      <TextField
        label="Key"
        value={draft.key}
        maxLength={400}
        placeholder="new-checkout"
        onInput={(key) => change({ key }, { is_typing: true })}
        hint="The name in your code."
        error={fieldError(error, 'key')}
        spellcheck={false}
        autocapitalize="off"
      />
      <TextField
        label="Description"
        value={draft.name}
        maxLength={4000}
        onInput={(name) => change({ name }, { is_typing: true })}
      />
    </div>
  )
}

type OwnerFieldProps = FieldsProps & { readonly types: readonly ListedGroupType[] }

/** Whether the flag is for persons or for groups. Conditions on the one say nothing of the other. */
function OwnerField({ draft, types, change }: OwnerFieldProps): VNode {
  const options = [
    { value: '', text: 'Persons' },
    ...types.map(({ group_type, group_type_index }) => ({
      value: String(group_type_index),
      text: `Groups: ${group_type}`,
    })),
  ]
  return (
    <SelectField
      label="The flag is for"
      value={String(draft.group_type ?? '')}
      options={options}
      onChange={(value) =>
        change({
          group_type: value === '' ? null : Number(value),
          conditions: [NEW_CONDITION],
        })
      }
    />
  )
}

type FlagMenuProps = {
  readonly flag: ShownFlag
  readonly draft: DraftedFlag
  readonly may_edit: boolean
}

function FlagMenu({ flag, draft, may_edit }: FlagMenuProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [is_deleting, setDeleting] = useState(false)
  const duplicate = async (): Promise<void> =>
    navigate(`/flags/new${await hashOf(copyOf(flag, draft))}`)
  const archive = (): Promise<unknown> =>
    applyChange(() => changeFlag(id, flag.id, { archived: !flag.archived }))
  const remove = async (): Promise<void> => {
    await changeFlag(id, flag.id, { deleted: true })
    navigate('/flags')
    const restore = (): void => void applyChange(() => changeFlag(id, flag.id, { deleted: false }))
    showToast({ text: `${flag.key} deleted`, action: { text: 'Undo', run: restore } })
  }
  const calls: MenuItem = { text: 'Calls in Explore', icon: 'explore', href: callsHref(flag.key) }
  const items: readonly (MenuItem | null)[] = [
    calls,
    ...(may_edit
      ? ([
          { text: 'Duplicate', icon: 'copy', onSelect: () => void duplicate() },
          { text: flag.archived ? 'Unarchive' : 'Archive', onSelect: () => void archive() },
          null,
          { text: 'Delete', icon: 'trash', is_danger: true, onSelect: () => setDeleting(true) },
        ] as const)
      : []),
  ]
  return (
    <>
      <Menu label="Actions of the flag" items={items} />
      {is_deleting && (
        <ConfirmDialog
          title="Delete this flag"
          action="Delete"
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          <p>
            Code that asks for <strong>{flag.key}</strong> then gets no value.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

/** The calls of the last 30 days by answer. */
function callsHref(key: string): string {
  const query = {
    kind: 'TrendsQuery',
    series: [
      {
        kind: 'EventsNode',
        event: '$feature_flag_called',
        properties: [{ type: 'event', key: '$feature_flag', operator: 'exact', value: [key] }],
      },
    ],
    breakdownFilter: { breakdowns: [{ type: 'event', property: '$feature_flag_response' }] },
    dateRange: { date_from: '-30d' },
    interval: 'day',
  }
  return `/explore#q=${encodeURIComponent(JSON.stringify(query))}`
}
