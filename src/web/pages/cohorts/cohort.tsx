/** One cohort at `/cohorts/:id`, or a new one at `/cohorts/new`. Unsaved changes are in the address. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { addToCohort, changeCohort, readCohort, useCohort } from '../../api/targeting/cohorts.ts'
import type { ShownCohort } from '../../api/types/shown-cohort.ts'
import { Ago } from '../../parts/ago.tsx'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { EditedPage, requireShown } from '../../parts/fields/edited-page.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { formatNumber } from '../../parts/format.ts'
import { isEqual } from '../../parts/is-equal.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { changeErrorText, ErrorNote } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Skeleton } from '../../parts/notes/skeleton.tsx'
import { applyChange } from '../../parts/overlays/apply-change.ts'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { Menu } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { type ChangeOptions, useHashQuery } from '../../state/url.ts'
import { bodyOf, type DraftedCohort, draftOf, NEW_COHORT, readDraft } from './cohort-draft.ts'
import { ConditionSets } from './condition-sets.tsx'

/** The page of a stored cohort. */
export function CohortView({ id }: { readonly id: string }): VNode {
  const missing = (
    <EmptyNote title="Cohort not found" icon="cohorts">
      <p>It may have been deleted.</p>
      <ButtonLink href="/cohorts">All cohorts</ButtonLink>
    </EmptyNote>
  )
  return (
    <Loaded of={useCohort(id)} title="Cohort" missing={missing}>
      {(cohort) => <CohortEditor cohort={cohort} />}
    </Loaded>
  )
}

type ChangeCohort = (changes: Partial<DraftedCohort>, options?: ChangeOptions) => void

/** The editor; `cohort` is null for a new one. */
export function CohortEditor({ cohort }: { readonly cohort: ShownCohort | null }): VNode {
  const [changed, setDraft] = useHashQuery<DraftedCohort>(readDraft)
  const stored = cohort === null ? NEW_COHORT : draftOf(cohort)
  if (changed === undefined) return <Skeleton lines={4} />
  const draft = changed ?? stored
  const change: ChangeCohort = (changes, options) => setDraft({ ...draft, ...changes }, options)
  return <OpenCohort cohort={cohort} draft={draft} stored={stored} change={change} />
}

type OpenCohortProps = {
  readonly cohort: ShownCohort | null
  readonly draft: DraftedCohort
  readonly stored: DraftedCohort
  readonly change: ChangeCohort
}

function OpenCohort({ cohort, draft, stored, change }: OpenCohortProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const may_edit = useMayEdit('cohort')
  const latest = useRef(draft)
  latest.current = draft
  const save = async (): Promise<void> => {
    if (cohort !== null) requireShown(stored, draftOf(await readCohort(id, cohort.id)))
    const saved = await changeCohort(id, cohort?.id ?? null, bodyOf(draft))
    showToast({ text: 'Saved' })
    // Changes that were made while the server stored it stay. Back must not lead to a second new cohort.
    if (isEqual(latest.current, draft))
      navigate(`/cohorts/${saved.id}`, { replace: cohort === null })
  }
  return (
    <EditedPage
      title={cohort === null ? 'New cohort' : cohort.name || `Cohort ${cohort.id}`}
      create={cohort === null ? 'Create cohort' : null}
      is_changed={!isEqual(draft, stored)}
      may_edit={may_edit}
      fields={['name']}
      onSave={save}
      onRevert={() => navigate(cohort === null ? '/cohorts' : `/cohorts/${cohort.id}`)}
      aside={cohort !== null && <CohortSize cohort={cohort} />}
      menu={cohort !== null && may_edit && <CohortMenu cohort={cohort} />}
    >
      {(error) => (
        <fieldset class={style.column} disabled={!may_edit} aria-label="The cohort">
          <div class={style.card}>
            <NameFields draft={draft} change={change} error={error} />
          </div>
          <section class={style.card} aria-labelledby="members">
            <h2 id="members">Who is in it</h2>
            {cohort === null && (
              <Choice
                label="Kind of cohort"
                options={KINDS}
                value={draft.is_static ? 'list' : 'conditions'}
                onChange={(kind) => change({ is_static: kind === 'list' })}
              />
            )}
            <Members cohort={cohort} draft={draft} change={change} />
          </section>
        </fieldset>
      )}
    </EditedPage>
  )
}

const KINDS = [
  { value: 'conditions', text: 'By conditions' },
  { value: 'list', text: 'A fixed list' },
] as const

type CohortFormProps = Pick<OpenCohortProps, 'change' | 'draft'>

function NameFields({
  draft,
  change,
  error,
}: CohortFormProps & { readonly error: unknown }): VNode {
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
        maxLength={1000}
        onInput={(description) => change({ description }, { is_typing: true })}
      />
    </div>
  )
}

type MembersProps = CohortFormProps & Pick<OpenCohortProps, 'cohort'>

function Members({ cohort, draft, change }: MembersProps): VNode {
  const { is_static, sets } = draft
  if (is_static) {
    return cohort === null ? (
      <p class={style.hint}>Create the cohort first, then add persons to it.</p>
    ) : (
      <AddPersons cohort={cohort} />
    )
  }
  if (sets === null)
    return <p class={style.hint}>These conditions were made by API and are kept as they are.</p>
  return <ConditionSets sets={sets} onChange={(next) => change({ sets: next })} />
}

/** Adds persons to a fixed list. */
function AddPersons({ cohort }: { readonly cohort: ShownCohort }): VNode {
  const { id } = useProject()
  const [text, setText] = useState('')
  const [error, setError] = useState<unknown>(null)
  const ids = text.split(/[\n,]/).flatMap((one) => one.trim() || [])
  const add = async (): Promise<void> => {
    try {
      const { count } = await addToCohort(id, cohort.id, ids)
      setText('')
      setError(null)
      showToast({ text: `${personsText((count ?? 0) - (cohort.count ?? 0))} added` })
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <label class={style.column}>
        Distinct ids, one on each line
        <textarea
          class="field"
          rows={5}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {error !== null && <ErrorNote message={changeErrorText(error)} />}
      <Button disabled={ids.length === 0} onClick={() => void add()}>
        Add {ids.length > 0 && formatNumber(ids.length)}
      </Button>
    </>
  )
}

/** `1 person`, `1,934 persons`; `– persons` before the first calculation. */
export const personsText = (count: number | null): string =>
  `${formatNumber(count)} ${count === 1 ? 'person' : 'persons'}`

/** The number of persons in it, and a way to see them. */
function CohortSize({ cohort }: { readonly cohort: ShownCohort }): VNode {
  const { id, count, is_calculating, errors_calculating, last_calculation } = cohort
  const filters = [{ type: 'cohort', key: 'id', operator: 'in', value: id }]
  const href = `/persons?filters=${encodeURIComponent(JSON.stringify(filters))}`
  return (
    <>
      <ButtonLink href={href} icon="persons" look="quiet">
        {count === null ? 'Persons' : personsText(count)}
      </ButtonLink>
      <span class={style.hint}>
        {is_calculating ? (
          'calculating…'
        ) : errors_calculating > 0 ? (
          'could not be calculated'
        ) : (
          <>{last_calculation !== null && <Ago iso={last_calculation} />}</>
        )}
      </span>
    </>
  )
}

function CohortMenu({ cohort }: { readonly cohort: ShownCohort }): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [is_deleting, setDeleting] = useState(false)
  const remove = async (): Promise<void> => {
    await changeCohort(id, cohort.id, { deleted: true })
    navigate('/cohorts')
    const restore = (): void =>
      void applyChange(() => changeCohort(id, cohort.id, { deleted: false }))
    showToast({ text: 'Cohort deleted', action: { text: 'Undo', run: restore } })
  }
  return (
    <>
      <Menu
        label="Actions of the cohort"
        items={[
          { text: 'Delete', icon: 'trash', is_danger: true, onSelect: () => setDeleting(true) },
        ]}
      />
      {is_deleting && (
        <ConfirmDialog
          title="Delete this cohort"
          action="Delete"
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          <p>
            Filters that name <strong>{cohort.name}</strong> then match no person. The persons stay.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
