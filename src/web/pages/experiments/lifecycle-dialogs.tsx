/** The dialogs that end an experiment, and that duplicate one. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import {
  changeExperiment,
  moveExperiment,
  requireUnchanged,
} from '../../api/targeting/experiments.ts'
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { Toggle } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { applyChange } from '../../parts/overlays/apply-change.ts'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { membersOf } from './metric.ts'
import { CONCLUSIONS } from './result-text.ts'

type LifecycleDialogProps = { readonly experiment: ShownExperiment; readonly onClose: () => void }

const NO_CONCLUSION = { value: '', text: 'None yet' }
const KEEP = { value: '', text: 'Everyone keeps their variant' }

type DraftedEnd = {
  /** '' for none. */
  readonly conclusion: string
  readonly comment: string
  /** The variant to ship; '' for none. */
  readonly shipped: string
  readonly is_for_all: boolean
}

/** Ends a running experiment with a conclusion; or ships a variant, also of one that has ended. */
export function EndDialog({
  experiment,
  is_shipping,
  onClose,
}: LifecycleDialogProps & { readonly is_shipping: boolean }): VNode {
  const { id } = useProject()
  const { conclusion, conclusion_comment } = experiment
  const [draft, setDraft] = useState<DraftedEnd>({
    conclusion: conclusion ?? '',
    comment: conclusion_comment ?? '',
    shipped: is_shipping ? (variantKeys(experiment).at(-1) ?? '') : '',
    is_for_all: false,
  })
  const end = async (): Promise<void> => {
    const { shipped, is_for_all } = draft
    const conclusions = {
      conclusion: draft.conclusion === '' ? null : draft.conclusion,
      conclusion_comment: draft.comment === '' ? null : draft.comment,
    }
    if (shipped !== '') {
      const shipment = { variant_key: shipped, release_to_everyone: is_for_all, ...conclusions }
      await moveExperiment(id, experiment.id, 'ship_variant', shipment)
      onClose()
      showToast({ text: `${shipped} is shipped` })
      return
    }
    const ended = await moveExperiment(id, experiment.id, 'end', conclusions)
    onClose()
    const undo = async (): Promise<void> => {
      await requireUnchanged(id, ended)
      await changeExperiment(id, experiment.id, { end_date: null, conclusion, conclusion_comment })
    }
    showToast({ text: 'Ended', action: { text: 'Undo', run: () => void applyChange(undo) } })
  }
  return (
    <Dialog title={is_shipping ? 'Ship a variant' : 'End the experiment'} onClose={onClose}>
      <Form action={is_shipping ? 'Ship' : 'End'} fields={['variant_key']} onSubmit={end}>
        {(error) => (
          <EndFields
            experiment={experiment}
            is_shipping={is_shipping}
            draft={draft}
            change={(changes) => setDraft({ ...draft, ...changes })}
            error={error}
          />
        )}
      </Form>
    </Dialog>
  )
}

type EndFieldsProps = {
  readonly experiment: ShownExperiment
  readonly is_shipping: boolean
  readonly draft: DraftedEnd
  readonly change: (changes: Partial<DraftedEnd>) => void
  readonly error: unknown
}

function EndFields({ experiment, is_shipping, draft, change, error }: EndFieldsProps): VNode {
  const may_ship = useMayEdit('feature_flag')
  const shippable = variantKeys(experiment).map((key) => ({
    value: key,
    text: `Those in it get “${key}”`,
  }))
  return (
    <>
      <SelectField
        label="Conclusion"
        value={draft.conclusion}
        options={[NO_CONCLUSION, ...CONCLUSIONS]}
        onChange={(conclusion) => change({ conclusion })}
      />
      <TextField label="Comment" value={draft.comment} onInput={(comment) => change({ comment })} />
      {may_ship && (
        <SelectField
          label="From now on"
          value={draft.shipped}
          options={is_shipping ? shippable : [KEEP, ...shippable]}
          onChange={(shipped) => change({ shipped })}
          error={fieldError(error, 'variant_key')}
        />
      )}
      {draft.shipped !== '' && (
        <Toggle
          label="Also persons who do not meet the flag’s conditions"
          is_on={draft.is_for_all}
          onChange={(is_for_all) => change({ is_for_all })}
        />
      )}
      {draft.shipped !== '' && experiment.feature_flag?.active === false && (
        <p class={style.hint}>The flag is off, and stays off: nobody gets it until it is on.</p>
      )}
    </>
  )
}

function variantKeys({ feature_flag }: ShownExperiment): readonly string[] {
  const { variants } = membersOf(feature_flag?.filters?.['multivariate'])
  const list: readonly unknown[] = Array.isArray(variants) ? variants : []
  return list.map((variant) => String(membersOf(variant)['key']))
}

/** Makes a draft with the same metrics and settings. */
export function DuplicateDialog({ experiment, onClose }: LifecycleDialogProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [name, setName] = useState(`${experiment.name} (Copy)`)
  const [key, setKey] = useState('')
  const duplicate = async (): Promise<void> => {
    const body = { name: name.trim(), feature_flag_key: key.trim() }
    const copy = await moveExperiment(id, experiment.id, 'duplicate', body)
    onClose()
    navigate(`/experiments/${copy.id}`)
  }
  return (
    <Dialog title="Duplicate the experiment" onClose={onClose}>
      <Form action="Duplicate" fields={['name', 'feature_flag_key']} onSubmit={duplicate}>
        {(error) => (
          <>
            <TextField
              label="Name"
              value={name}
              maxLength={400}
              onInput={setName}
              error={fieldError(error, 'name')}
            />
            <TextField
              label="Key of the flag"
              value={key}
              maxLength={400}
              placeholder={experiment.feature_flag_key}
              onInput={setKey}
              hint="A new key makes a new flag with the same variants. Empty: both use the same flag."
              error={fieldError(error, 'feature_flag_key')}
              spellcheck={false}
              autocapitalize="off"
            />
            <p class={style.hint}>It begins as a draft.</p>
          </>
        )}
      </Form>
    </Dialog>
  )
}
