/** Beside a flag: a trial for one person, the code that reads it, its history. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type FlagTrial, tryFlag } from '../../api/targeting/flags.ts'
import type { ShownFlag } from '../../api/types/shown-flag.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { TextField } from '../../parts/fields/field.tsx'
import { formatMoment } from '../../parts/format.ts'
import { ErrorNote, errorText } from '../../parts/notes/error-note.tsx'
import { SERVER_URL } from '../../state/base-path.ts'
import { useProject } from '../../state/project.tsx'
import { FLAG_CODES } from './flag-code.ts'
import type { DraftedFlag } from './flag-draft.ts'

type TrialCardProps = {
  readonly flag: ShownFlag
  /** The name of its group type; null for persons. */
  readonly group_type: string | null
  /** There are changes that are not saved. */
  readonly is_changed: boolean
}

/** Evaluates the stored flag for one person or group. */
export function TrialCard({ flag, group_type, is_changed }: TrialCardProps): VNode {
  const { id } = useProject()
  const [subject, setSubject] = useState('')
  const [trial, setTrial] = useState<FlagTrial | null>(null)
  const [error, setError] = useState<unknown>(null)
  const run = async (): Promise<void> => {
    const groups = group_type === null ? {} : { groups: { [group_type]: subject } }
    try {
      setTrial(await tryFlag(id, flag.id, { distinct_id: subject, ...groups }))
      setError(null)
    } catch (failure) {
      setTrial(null)
      setError(failure)
    }
  }
  return (
    <section class={style.card} aria-labelledby="try">
      <h2 id="try">Try it</h2>
      <form
        class={style.trial}
        onSubmit={(event) => {
          event.preventDefault()
          if (subject !== '') void run()
        }}
      >
        <TextField
          label={group_type === null ? 'Distinct id' : `Key of the ${group_type}`}
          value={subject}
          maxLength={400}
          onInput={setSubject}
        />
        <Button type="submit">Try</Button>
      </form>
      <div aria-live="polite">
        {error !== null && <ErrorNote message={errorText(error)} />}
        {trial !== null && <Outcome trial={trial} />}
      </div>
      {is_changed && <p class={style.hint}>Tries the saved flag, without your changes.</p>}
    </section>
  )
}

function Outcome({ trial }: { readonly trial: FlagTrial }): VNode {
  const { result, reason_description, payload, conditions } = trial
  return (
    <div class={style.outcome}>
      <p class={result === false ? style.off : style.on}>
        {typeof result === 'string' ? result : result ? 'On' : 'Off'}
      </p>
      {reason_description && <p>{reason_description}.</p>}
      {payload !== null && (
        <p>
          Payload <code>{typeof payload === 'string' ? payload : JSON.stringify(payload)}</code>
        </p>
      )}
      <ul>
        {conditions.map(({ index, explanation }) => (
          <li key={index}>
            Condition {index + 1}: {explanation}
          </li>
        ))}
      </ul>
    </div>
  )
}

type CodeCardProps = { readonly draft: DraftedFlag; readonly group_type: string | null }

/** Code that reads the flag. */
export function CodeCard({ draft, group_type }: CodeCardProps): VNode {
  const { api_token } = useProject()
  const [language, setLanguage] = useState<(typeof FLAG_CODES)[number]['value']>('web')
  const write = FLAG_CODES.find(({ value }) => value === language)?.code
  const code = write?.({ draft, group_type, url: SERVER_URL, token: api_token }) ?? ''
  return (
    <section class={style.card} aria-labelledby="code">
      <h2 id="code">Read it</h2>
      <Choice label="Language" options={FLAG_CODES} value={language} onChange={setLanguage} />
      <div class={style.code}>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard */}
        <pre tabIndex={0} aria-label="Code" role="region">
          <code>{code}</code>
        </pre>
        <CopyButton text={code} label="Copy" is_named />
      </div>
    </section>
  )
}

/** The times and authors of its creation and its last change. */
export function FactsCard({ flag }: { readonly flag: ShownFlag }): VNode {
  const { timezone } = useProject()
  const { created_at, updated_at, created_by, last_modified_by, version } = flag
  return (
    <section class={style.card} aria-labelledby="facts">
      <h2 id="facts">History</h2>
      <dl class={style.facts}>
        <Fact name="Created" at={formatMoment(created_at, timezone)} by={created_by} />
        <Fact name="Last changed" at={formatMoment(updated_at, timezone)} by={last_modified_by} />
        <div>
          <dt>Version</dt>
          <dd>{version}</dd>
        </div>
      </dl>
    </section>
  )
}

type FlagFactProps = {
  readonly name: string
  readonly at: string
  readonly by: ShownFlag['created_by']
}

function Fact({ name, at, by }: FlagFactProps): VNode {
  const who = by === null ? '' : by.first_name || by.email
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {at}
        {who !== '' && `, ${who}`}
      </dd>
    </div>
  )
}
