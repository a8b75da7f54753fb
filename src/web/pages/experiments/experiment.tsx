/** One experiment at `/experiments/:id`, or a new one at `/experiments/new`. Unsaved changes are in the address. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { changeExperiment, readExperiment, useExperiment } from '../../api/targeting/experiments.ts'
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { EditedPage, requireShown } from '../../parts/fields/edited-page.tsx'
import field from '../../parts/fields/field.module.css'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { isEqual } from '../../parts/is-equal.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Skeleton } from '../../parts/notes/skeleton.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { now } from '../../state/clock.ts'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { useHashQuery } from '../../state/url.ts'
import {
  changesOf,
  type DraftedExperiment,
  draftOf,
  NEW_EXPERIMENT,
  newBodyOf,
  readDraft,
  type StatsMethod,
} from './experiment-draft.ts'
import { ExperimentActions } from './lifecycle.tsx'
import { type ChangeExperiment, MetricList } from './metric-list.tsx'
import { NewFlag } from './new-flag.tsx'
import { CONCLUSIONS, statusText } from './result-text.ts'
import { ExposuresCard, FactsCard } from './side-cards.tsx'

/** The page of a stored experiment. */
export function ExperimentView({ id }: { readonly id: string }): VNode {
  const missing = (
    <EmptyNote title="Experiment not found" icon="experiments">
      <p>It may have been deleted.</p>
      <ButtonLink href="/experiments">All experiments</ButtonLink>
    </EmptyNote>
  )
  return (
    <Loaded of={useExperiment(id)} title="Experiment" missing={missing}>
      {(experiment) => <ExperimentEditor experiment={experiment} />}
    </Loaded>
  )
}

type ExperimentEditorProps = { readonly experiment: ShownExperiment | null }

/** The editor; `experiment` is null for a new one. */
export function ExperimentEditor({ experiment }: ExperimentEditorProps): VNode {
  const [changed, setDraft] = useHashQuery<DraftedExperiment>(readDraft)
  const stored = experiment === null ? NEW_EXPERIMENT : draftOf(experiment)
  if (changed === undefined) return <Skeleton lines={4} />
  const draft = changed ?? stored
  const change: ChangeExperiment = (changes, options) => setDraft({ ...draft, ...changes }, options)
  return <OpenExperiment experiment={experiment} draft={draft} stored={stored} change={change} />
}

type OpenExperimentProps = ExperimentFormProps & {
  readonly experiment: ShownExperiment | null
  readonly stored: DraftedExperiment
}

function OpenExperiment({ experiment, draft, stored, change }: OpenExperimentProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const may_edit = useMayEdit('experiment')
  const may_make_flags = useMayEdit('feature_flag')
  const latest = useRef(draft)
  latest.current = draft
  const save = async (): Promise<void> => {
    // A member who may not make flags is offered only those that exist, whatever the draft began with.
    const sent = may_make_flags ? draft : { ...draft, is_new_flag: false }
    const saved = await saveDraft(id, experiment, sent)
    showToast({ text: 'Saved' })
    // Changes that were made while the server stored it stay. Back must not lead to a second new experiment.
    if (isEqual(latest.current, draft))
      navigate(`/experiments/${saved.id}`, { replace: experiment === null })
  }
  const is_changed = !isEqual(draft, stored)
  return (
    <EditedPage
      title={experiment?.name ?? 'New experiment'}
      create={experiment === null ? 'Create experiment' : null}
      is_changed={is_changed}
      may_edit={may_edit}
      fields={['feature_flag', 'feature_flag_key', 'name']}
      onSave={save}
      onRevert={() =>
        navigate(experiment === null ? '/experiments' : `/experiments/${experiment.id}`)
      }
      aside={experiment !== null && <Status experiment={experiment} />}
      menu={
        experiment !== null &&
        may_edit && <ExperimentActions experiment={experiment} is_changed={is_changed} />
      }
    >
      {(error) => (
        <ExperimentBody
          experiment={experiment}
          draft={draft}
          change={change}
          may_edit={may_edit}
          error={error}
        />
      )}
    </EditedPage>
  )
}

type ExperimentBodyProps = ExperimentFormProps & {
  readonly experiment: ShownExperiment | null
  readonly may_edit: boolean
  readonly error: unknown
}

function ExperimentBody(props: ExperimentBodyProps): VNode {
  const { experiment, draft, change, may_edit, error } = props
  return (
    <div class={experiment === null ? undefined : style.split}>
      <div class={style.column}>
        <fieldset class={style.card} disabled={!may_edit} aria-label="The experiment">
          <NameFields draft={draft} change={change} error={error} />
          {experiment?.end_date && <ConclusionFields draft={draft} change={change} />}
        </fieldset>
        {experiment === null && <NewFlag draft={draft} change={change} error={error} />}
        {(['metrics', 'secondary'] as const).map((member) => (
          <MetricList
            key={member}
            member={member}
            experiment={experiment}
            draft={draft}
            change={change}
            may_edit={may_edit}
          />
        ))}
        <fieldset class={style.card} disabled={!may_edit} aria-label="Statistics">
          <MethodField draft={draft} change={change} />
        </fieldset>
      </div>
      {experiment !== null && (
        <div class={style.column}>
          {experiment.start_date && <ExposuresCard experiment={experiment} />}
          <FactsCard experiment={experiment} />
        </div>
      )}
    </div>
  )
}

async function saveDraft(
  project_id: number,
  experiment: ShownExperiment | null,
  draft: DraftedExperiment,
): Promise<ShownExperiment> {
  if (experiment === null) return changeExperiment(project_id, null, newBodyOf(draft))
  requireShown(draftOf(experiment), draftOf(await readExperiment(project_id, experiment.id)))
  return changeExperiment(project_id, experiment.id, changesOf(draft, experiment))
}

function Status({ experiment }: { readonly experiment: ShownExperiment }): VNode {
  const text = statusText(experiment, now())
  return <span class={style.hint}>{experiment.archived ? `${text}, archived` : text}</span>
}

type ExperimentFormProps = {
  readonly draft: DraftedExperiment
  readonly change: ChangeExperiment
}

function NameFields({
  draft,
  change,
  error,
}: ExperimentFormProps & { readonly error: unknown }): VNode {
  return (
    <>
      <TextField
        label="Name"
        value={draft.name}
        maxLength={400}
        onInput={(name) => change({ name }, { is_typing: true })}
        error={fieldError(error, 'name')}
      />
      <div class={field.field}>
        <label for="hypothesis">Hypothesis</label>
        <textarea
          id="hypothesis"
          class="field"
          rows={2}
          placeholder="A shorter form makes more persons sign up"
          value={draft.description}
          onInput={(event) =>
            change({ description: event.currentTarget.value }, { is_typing: true })
          }
        />
      </div>
    </>
  )
}

const NO_CONCLUSION = { value: '', text: 'None yet' }

function ConclusionFields({ draft, change }: ExperimentFormProps): VNode {
  return (
    <div class={style.pair}>
      <SelectField
        label="Conclusion"
        value={draft.conclusion}
        options={[NO_CONCLUSION, ...CONCLUSIONS]}
        onChange={(conclusion) => change({ conclusion })}
      />
      <TextField
        label="Comment"
        value={draft.comment}
        onInput={(comment) => change({ comment }, { is_typing: true })}
      />
    </div>
  )
}

const METHODS: readonly { readonly value: StatsMethod; readonly text: string }[] = [
  { value: 'bayesian', text: 'Bayesian: the chance to win' },
  { value: 'frequentist', text: 'Frequentist: a p-value' },
]

/** Rarely another than the usual one. */
function MethodField({ draft, change }: ExperimentFormProps): VNode {
  return (
    <details>
      <summary>Statistics</summary>
      <SelectField
        label="Method"
        value={draft.method}
        options={METHODS}
        onChange={(method) => change({ method: method as StatsMethod })}
      />
    </details>
  )
}
