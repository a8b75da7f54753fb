/** The page of an event or a property: what is known of it, and its description, tags and marks. Unsaved changes are in the address. */
import type { ComponentChildren, VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { changeDefinition, type DefinitionFamily, readDefinition } from '../../api/data.ts'
import type { DefinedEvent, DefinedProperty } from '../../api/types/shown-definition.ts'
import style from '../../parts/fields/edited-page.module.css'
import { EditedPage, requireShown } from '../../parts/fields/edited-page.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { TagsField } from '../../parts/fields/tags-field.tsx'
import { isEqual } from '../../parts/is-equal.ts'
import { Skeleton } from '../../parts/notes/skeleton.tsx'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { Menu, type MenuItem } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { type ChangeOptions, useHashQuery } from '../../state/url.ts'
import { bodyOf, type DraftedDefinition, draftOf, readDraft } from './definition-draft.ts'
import { PROPERTY_TYPES } from './definition-text.ts'

type DefinitionEditorProps = {
  readonly family: DefinitionFamily
  readonly definition: DefinedEvent | DefinedProperty
  /** The heading. */
  readonly title: string
  /** Its own address, and that of the list that it is in. */
  readonly href: string
  readonly list_href: string
  /** Other pages that show it. */
  readonly links: readonly MenuItem[]
  /** Beside the heading. */
  readonly aside?: ComponentChildren
  /** The cards beside the form; `change` changes the draft. */
  readonly children: (change: ChangeDefinition) => ComponentChildren
}

export type ChangeDefinition = (
  changes: Partial<DraftedDefinition>,
  options?: ChangeOptions,
) => void

/** Draws the page. */
export function DefinitionEditor(props: DefinitionEditorProps): VNode {
  const [changed, setDraft] = useHashQuery<DraftedDefinition>(readDraft)
  const stored = draftOf(props.definition)
  if (changed === undefined) return <Skeleton lines={4} />
  const draft = changed ?? stored
  const change: ChangeDefinition = (changes, options) => setDraft({ ...draft, ...changes }, options)
  return <OpenDefinition {...props} draft={draft} stored={stored} change={change} />
}

type OpenDefinitionProps = DefinitionEditorProps & {
  readonly draft: DraftedDefinition
  readonly stored: DraftedDefinition
  readonly change: ChangeDefinition
}

function OpenDefinition(props: OpenDefinitionProps): VNode {
  const { family, definition, title, draft, stored, change } = props
  const { id: project_id } = useProject()
  const [, navigate] = useLocation()
  const is_property = family === 'property_definitions/'
  const may_edit = useMayEdit(is_property ? 'property_definition' : 'event_definition')
  const latest = useRef(draft)
  latest.current = draft
  const revert = (): void => navigate(props.href)
  const save = async (): Promise<void> => {
    const now = await readDefinition(project_id, family, definition.id)
    requireShown(stored, draftOf(now))
    await changeDefinition(project_id, family, definition.id, bodyOf(draft, stored))
    showToast({ text: 'Saved' })
    // Changes that were made while the server stored it stay.
    if (isEqual(latest.current, draft)) revert()
  }
  return (
    <EditedPage
      title={title}
      create={null}
      is_changed={!isEqual(draft, stored)}
      may_edit={may_edit}
      fields={['description']}
      onSave={save}
      onRevert={revert}
      aside={props.aside}
      menu={<DefinitionMenu {...props} may_edit={may_edit} />}
    >
      {(error) => (
        <div class={style.split}>
          <fieldset class={style.column} disabled={!may_edit} aria-label="What it means">
            <div class={style.card}>
              <TextField
                label="Description"
                value={draft.description}
                maxLength={4000}
                onInput={(description) => change({ description }, { is_typing: true })}
                error={fieldError(error, 'description')}
              />
              <TagsField tags={draft.tags} onChange={(tags) => change({ tags })} />
              {is_property && <TypeField draft={draft} change={change} />}
              <MarkFields draft={draft} change={change} />
            </div>
          </fieldset>
          <div class={style.column}>{props.children(change)}</div>
        </div>
      )}
    </EditedPage>
  )
}

type DefinitionFieldsProps = Pick<OpenDefinitionProps, 'change' | 'draft'>

function TypeField({ draft, change }: DefinitionFieldsProps): VNode {
  const unknown = { value: '', text: 'That of the next value' }
  return (
    <SelectField
      label="Values are read as"
      value={draft.property_type}
      options={[...PROPERTY_TYPES, unknown]}
      onChange={(property_type) => change({ property_type })}
      hint="Stored values too. What does not fit is read as if it were not set."
    />
  )
}

function MarkFields({ draft, change }: DefinitionFieldsProps): VNode {
  return (
    <>
      <label class={style.who}>
        <input
          type="checkbox"
          checked={draft.is_verified}
          onChange={(event) => change({ is_verified: event.currentTarget.checked })}
        />
        Verified: its meaning is agreed
      </label>
      <label class={style.who}>
        <input
          type="checkbox"
          checked={draft.is_hidden}
          onChange={(event) => change({ is_hidden: event.currentTarget.checked })}
        />
        Hidden from charts and filters
      </label>
    </>
  )
}

function DefinitionMenu(props: OpenDefinitionProps & { readonly may_edit: boolean }): VNode {
  const { family, definition, title, list_href, links, may_edit } = props
  const { id: project_id } = useProject()
  const [, navigate] = useLocation()
  const [is_removing, setRemoving] = useState(false)
  const remove = async (): Promise<void> => {
    await changeDefinition(project_id, family, definition.id, 'remove')
    navigate(list_href)
    showToast({ text: `${title} removed` })
  }
  const removal: MenuItem = {
    text: 'Remove',
    icon: 'trash',
    is_danger: true,
    onSelect: () => setRemoving(true),
  }
  const line = links.length > 0 ? [null] : []
  const items = [...links, ...(may_edit ? [...line, removal] : [])]
  const kind = family === 'event_definitions/' ? 'event' : 'property'
  return (
    <>
      {items.length > 0 && <Menu label={`Actions of the ${kind}`} items={items} />}
      {is_removing && (
        <ConfirmDialog
          title={`Remove this ${kind}`}
          action="Remove"
          onConfirm={remove}
          onClose={() => setRemoving(false)}
        >
          <p>
            <strong>{title}</strong> leaves all lists until it is seen again. What was stored stays.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
