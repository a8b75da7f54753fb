/** The flag of a new experiment: a new one with its variants, or one that exists. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useEligibleFlags } from '../../api/targeting/experiments.ts'
import { Choice } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Picker } from '../../parts/fields/picker.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { draftOf, NEW_FLAG } from '../flags/flag-draft.ts'
import { releaseText } from '../flags/release-text.ts'
import { Variants } from '../flags/value-list.tsx'
import { type DraftedExperiment, flagKeyOf } from './experiment-draft.ts'
import type { ChangeExperiment } from './metric-list.tsx'

type NewFlagProps = {
  readonly draft: DraftedExperiment
  readonly change: ChangeExperiment
  readonly error: unknown
}

const KINDS = [
  { value: 'new', text: 'A new flag' },
  { value: 'existing', text: 'An existing flag' },
] as const

/** Draws the choice. A member who may not make flags uses one that exists. */
export function NewFlag({ draft, change, error }: NewFlagProps): VNode {
  const may_make = useMayEdit('feature_flag')
  const is_new = draft.is_new_flag && may_make
  return (
    <section class={style.card} aria-labelledby="flag">
      <h2 id="flag">Who sees what</h2>
      {may_make && (
        <Choice
          label="Flag"
          options={KINDS}
          value={is_new ? 'new' : 'existing'}
          onChange={(kind) => change({ is_new_flag: kind === 'new', flag_key: '' })}
        />
      )}
      {is_new ? (
        <>
          <TextField
            label="Key of the flag"
            value={draft.flag_key}
            maxLength={400}
            placeholder={flagKeyOf(draft) || 'new-checkout'}
            onInput={(flag_key) => change({ flag_key }, { is_typing: true })}
            hint="The name in your code. Empty: that of the experiment."
            error={fieldError(error, 'feature_flag_key') ?? fieldError(error, 'feature_flag')}
            spellcheck={false}
            autocapitalize="off"
          />
          <Variants
            draft={{ ...NEW_FLAG, variants: draft.variants }}
            change={({ variants }, options) => variants && change({ variants }, options)}
          />
          <p class={style.hint}>
            Everyone takes part, once the experiment is launched. Conditions are set at the flag.
          </p>
        </>
      ) : (
        <ExistingFlag draft={draft} change={change} error={error} />
      )}
    </section>
  )
}

function ExistingFlag({ draft, change, error }: NewFlagProps): VNode {
  const [search, setSearch] = useState('')
  const { data, isFetching } = useEligibleFlags(search)
  const flags = data?.results ?? []
  const chosen = flags.find(({ key }) => key === draft.flag_key)
  const fault = fieldError(error, 'feature_flag_key')
  return (
    <>
      <div class={style.who}>
        <Picker
          label="Flag"
          options={flags.map((flag) => ({ value: flag.key, text: flag.key }))}
          value={draft.flag_key === '' ? null : draft.flag_key}
          placeholder="Choose a flag"
          text={draft.flag_key === '' ? 'Choose a flag' : draft.flag_key}
          icon="flags"
          is_loading={isFetching}
          onSearch={setSearch}
          onChange={(flag_key) => change({ flag_key, is_new_flag: false })}
        />
        {chosen && releaseText(draftOf(chosen))}
      </div>
      {fault !== null && <p class={style.warning}>{fault}</p>}
      <p class={style.hint}>Flags with variants, of which the first is “control”.</p>
    </>
  )
}
