/** One survey at `/surveys/:id`, or a new one at `/surveys/new`. Unsaved changes are in the address. */
import type { ComponentChildren, VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { ApiError } from '../../api/calls/call.ts'
import {
  changeSurvey,
  deleteSurvey,
  readSurvey,
  turnSurvey,
  useSurvey,
} from '../../api/targeting/surveys.ts'
import type { ShownSurvey } from '../../api/types/shown-survey.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import edited from '../../parts/fields/edited-page.module.css'
import { EditedPage, requireShown } from '../../parts/fields/edited-page.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { isEqual } from '../../parts/is-equal.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Skeleton } from '../../parts/notes/skeleton.tsx'
import { applyChange } from '../../parts/overlays/apply-change.ts'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { Menu, type MenuItem } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { hashOf, useHashQuery, useParam } from '../../state/url.ts'
import { AudienceCard } from './audience-card.tsx'
import { LookCard } from './look-card.tsx'
import { PreviewCard } from './preview.tsx'
import { type ChangeSurvey, QuestionList } from './question-list.tsx'
import { ResultsView } from './results.tsx'
import { SurveyBadge } from './survey-badge.tsx'
import { bodyOf, copyOf, type DraftedSurvey, draftOf, readDraft, stateOf } from './survey-draft.ts'
import style from './surveys.module.css'
import { SURVEY_TEMPLATES } from './templates.ts'

/** The page of a stored survey. */
export function SurveyView({ id }: { readonly id: string }): VNode {
  const missing = (
    <EmptyNote title="Survey not found" icon="surveys">
      <p>It may have been deleted.</p>
      <ButtonLink href="/surveys">All surveys</ButtonLink>
    </EmptyNote>
  )
  return (
    <Loaded of={useSurvey(id)} title="Survey" missing={missing}>
      {(survey) => <SurveyEditor survey={survey} />}
    </Loaded>
  )
}

/** The page of a new survey: the templates, then the editor. */
export function NewSurvey(): VNode {
  const [changed, setDraft] = useHashQuery<DraftedSurvey>(readDraft)
  const [, navigate] = useLocation()
  if (changed === undefined) return <Skeleton lines={4} />
  if (changed !== null) {
    return (
      <OpenSurvey
        survey={null}
        draft={changed}
        stored={null}
        change={(changes, options) => setDraft({ ...changed, ...changes }, options)}
      />
    )
  }
  return (
    <>
      <PageHead title="New survey">
        <Button onClick={() => navigate('/surveys')}>Cancel</Button>
      </PageHead>
      <ul class={style.templates}>
        {SURVEY_TEMPLATES.map(({ title, text, draft }) => (
          <li key={title}>
            <button type="button" onClick={() => setDraft(draft)}>
              <b>{title}</b>
              <span>{text}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

function SurveyEditor({ survey }: { readonly survey: ShownSurvey }): VNode {
  const [changed, setDraft] = useHashQuery<DraftedSurvey>(readDraft)
  const stored = draftOf(survey)
  if (changed === undefined) return <Skeleton lines={4} />
  const draft = changed ?? stored
  const change: ChangeSurvey = (changes, options) => setDraft({ ...draft, ...changes }, options)
  return <OpenSurvey survey={survey} draft={draft} stored={stored} change={change} />
}

type OpenSurveyProps = {
  /** Null for a new one, as is `stored`. */
  readonly survey: ShownSurvey | null
  readonly draft: DraftedSurvey
  readonly stored: DraftedSurvey | null
  readonly change: ChangeSurvey
}

const VIEWS = [
  { value: 'results', text: 'Results' },
  { value: 'edit', text: 'Survey' },
] as const

type ViewChoiceProps = {
  readonly shows_results: boolean
  readonly onChange: (view: string) => void
}

function ViewChoice({ shows_results, onChange }: ViewChoiceProps): VNode {
  return (
    <div class={edited.controls}>
      <Choice
        label="Show"
        options={VIEWS}
        value={shows_results ? 'results' : 'edit'}
        onChange={onChange}
      />
    </div>
  )
}

function OpenSurvey({ survey, draft, stored, change }: OpenSurveyProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [chosen, setView] = useParam('view')
  const may_edit = useMayEdit('survey')
  const latest = useRef(draft)
  latest.current = draft
  const is_changed = !isEqual(draft, stored)
  const is_launched = survey !== null && survey.start_date !== null
  const shows_results = is_launched && (chosen === '' ? !is_changed : chosen !== 'edit')
  const address = `/surveys/${survey?.id ?? ''}${is_launched ? '?view=edit' : ''}`
  const save = async (): Promise<void> => {
    const saved = await saveDraft(id, survey, draft)
    showToast({ text: 'Saved' })
    // Changes that were made while the server stored it stay. Back must not lead to a second new survey.
    if (!isEqual(latest.current, draft)) return
    if (survey === null) navigate(`/surveys/${saved.id}`, { replace: true })
    else navigate(address)
  }
  return (
    <EditedPage
      title={survey?.name ?? 'New survey'}
      create={survey === null ? 'Create survey' : null}
      is_changed={is_changed}
      may_edit={may_edit}
      fields={['name']}
      onSave={save}
      onRevert={() => navigate(survey === null ? '/surveys' : address)}
      aside={survey !== null && <SurveyBadge survey={survey} has_dates />}
      menu={
        survey !== null && (
          <>
            {may_edit && <TurnButton survey={survey} is_changed={is_changed} />}
            <SurveyMenu survey={survey} draft={draft} may_edit={may_edit} />
          </>
        )
      }
    >
      {(error) => (
        <>
          {is_launched && <ViewChoice shows_results={shows_results} onChange={setView} />}
          {shows_results ? (
            <ResultsView survey={survey} may_edit={may_edit} />
          ) : (
            <SurveyForm survey={survey} draft={draft} change={change} may_edit={may_edit}>
              <NameFields draft={draft} change={change} error={error} />
            </SurveyForm>
          )}
        </>
      )}
    </EditedPage>
  )
}

async function saveDraft(
  project_id: number,
  survey: ShownSurvey | null,
  draft: DraftedSurvey,
): Promise<ShownSurvey> {
  const stored = survey === null ? null : draftOf(survey)
  if (survey !== null && stored !== null)
    requireShown(stored, draftOf(await readSurvey(project_id, survey.id)))
  try {
    return await changeSurvey(project_id, survey?.id ?? null, bodyOf(draft, stored))
  } catch (error) {
    throw nameQuestion(error)
  }
}

/** The refusal of a question with its number: `Question 2: This field may not be blank.` */
function nameQuestion(error: unknown): unknown {
  const [, at] =
    /^questions__(\d+)__/.exec(error instanceof ApiError ? (error.attr ?? '') : '') ?? []
  if (!(error instanceof ApiError) || at === undefined) return error
  const { status, code, attr, retry_after_s } = error
  const message = `Question ${Number(at) + 1}: ${error.message}`
  return new ApiError(message, { status, code, attr, retry_after_s })
}

type SurveyFormProps = Pick<OpenSurveyProps, 'change' | 'draft' | 'survey'> & {
  readonly may_edit: boolean
  /** The first card. */
  readonly children: ComponentChildren
}

function SurveyForm({ survey, draft, change, may_edit, children }: SurveyFormProps): VNode {
  return (
    <div class={edited.split}>
      <fieldset class={edited.column} disabled={!may_edit} aria-label="The survey">
        <div class={edited.card}>{children}</div>
        <section class={edited.card} aria-labelledby="questions">
          <h2 id="questions">Questions</h2>
          <QuestionList draft={draft} change={change} />
        </section>
        <AudienceCard survey={survey} draft={draft} change={change} />
      </fieldset>
      <div class={`${edited.column} ${style.beside}`}>
        <PreviewCard draft={draft} />
        <fieldset class={edited.column} disabled={!may_edit} aria-label="Its looks">
          <LookCard draft={draft} change={change} />
        </fieldset>
      </div>
    </div>
  )
}

type NameFieldsProps = Pick<OpenSurveyProps, 'change' | 'draft'> & { readonly error: unknown }

function NameFields({ draft, change, error }: NameFieldsProps): VNode {
  return (
    <div class={edited.pair}>
      <TextField
        label="Name"
        value={draft.name}
        maxLength={400}
        onInput={(name) => change({ name }, { is_typing: true })}
        hint="People who answer do not see it."
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

type TurnButtonProps = { readonly survey: ShownSurvey; readonly is_changed: boolean }

/** Launches, stops or resumes the stored survey at once; changes are saved first. */
function TurnButton({ survey, is_changed }: TurnButtonProps): VNode | null {
  const { id } = useProject()
  const state = stateOf(survey)
  const turn = (to: 'launch' | 'stop') => applyChange(() => turnSurvey(id, survey.id, to))
  const stop = async (): Promise<void> => {
    if (!(await turn('stop'))) return
    const undo = { text: 'Undo', run: () => void turn('launch') }
    showToast({ text: `${survey.name} stopped`, action: undo })
  }
  const launch = async (): Promise<void> => {
    if (await turn('launch')) showToast({ text: `${survey.name} is running` })
  }
  if (state === 'running') return <Button onClick={onFirst(stop)}>Stop</Button>
  if (state === 'archived' || is_changed) return null
  if (state === 'ended') return <Button onClick={onFirst(launch)}>Resume</Button>
  return (
    <Button look="main" onClick={onFirst(launch)}>
      Launch
    </Button>
  )
}

/** Calls it at the first of two quick clicks: after Launch the button says Stop, and the second would stop the survey. */
const onFirst = (run: () => Promise<void>) => (event: MouseEvent) => {
  if (event.detail < 2) void run()
}

type SurveyMenuProps = {
  readonly survey: ShownSurvey
  readonly draft: DraftedSurvey
  readonly may_edit: boolean
}

function SurveyMenu({ survey, draft, may_edit }: SurveyMenuProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [is_deleting, setDeleting] = useState(false)
  const duplicate = async (): Promise<void> =>
    navigate(`/surveys/new${await hashOf(copyOf(draft, survey))}`)
  const setArchived = (archived: boolean) =>
    applyChange(() => changeSurvey(id, survey.id, { archived }))
  const archive = async (): Promise<void> => {
    if (!(await setArchived(!survey.archived))) return
    const undo = { text: 'Undo', run: () => void setArchived(survey.archived) }
    const done = survey.archived ? 'is no longer archived' : 'archived'
    showToast({ text: `${survey.name} ${done}`, action: undo })
  }
  const remove = async (): Promise<void> => {
    await deleteSurvey(id, survey.id)
    navigate('/surveys')
    showToast({ text: `${survey.name} deleted` })
  }
  const items: readonly (MenuItem | null)[] = [
    { text: 'Events in Explore', icon: 'explore', href: eventsHref(survey.id) },
    ...(may_edit
      ? ([
          { text: 'Duplicate', icon: 'copy', onSelect: () => void duplicate() },
          { text: survey.archived ? 'Unarchive' : 'Archive', onSelect: () => void archive() },
          null,
          { text: 'Delete', icon: 'trash', is_danger: true, onSelect: () => setDeleting(true) },
        ] as const)
      : []),
  ]
  return (
    <>
      <Menu label="Actions of the survey" items={items} />
      {is_deleting && (
        <ConfirmDialog
          title="Delete this survey"
          action="Delete"
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          <p>
            <strong>{survey.name}</strong> is no longer shown and cannot be brought back. The events
            of its answers stay. To keep its results, archive it instead.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

/** Its three events over the last 30 days. */
function eventsHref(survey_id: string): string {
  const properties = [
    { type: 'event', key: '$survey_id', operator: 'exact', value: [survey_id] },
  ] as const
  const query = {
    kind: 'TrendsQuery',
    series: ['survey shown', 'survey dismissed', 'survey sent'].map((event) => ({
      kind: 'EventsNode',
      event,
      properties,
    })),
    dateRange: { date_from: '-30d' },
    interval: 'day',
  }
  return `/explore#q=${encodeURIComponent(JSON.stringify(query))}`
}
