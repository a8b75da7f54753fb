/** Personal API keys: made and shown once, listed, revoked. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { makeKey, type PersonalKey, revokeKey, usePersonalKeys } from '../../api/settings.ts'
import { Button } from '../../parts/button.tsx'
import { Toggle } from '../../parts/fields/choice.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { formatAgo } from '../../parts/format.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { ShownOnce } from '../../parts/notes/shown-once.tsx'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { useProject } from '../../state/project.tsx'
import style from './settings.module.css'

/** RIGHTS: the choices of a key's scopes, with their labels. Adding a choice means adding a line. */
const RIGHTS = [
  { value: 'query', text: 'Run queries', scopes: ['query:read'] },
  {
    value: 'read',
    text: 'Read insights, boards, flags, persons, and run queries',
    scopes: [
      'query:read',
      'insight:read',
      'dashboard:read',
      'feature_flag:read',
      'person:read',
      'cohort:read',
      'project:read',
    ],
  },
  { value: 'flags', text: 'Evaluate flags locally in an SDK', scopes: ['feature_flag:read'] },
  { value: 'all', text: 'Everything you can do', scopes: ['*'] },
] as const

/** Draws the section. */
export function KeysSection(): VNode {
  const keys = usePersonalKeys()
  const [ending, setEnding] = useState<PersonalKey | null>(null)
  return (
    <div class={style.cards}>
      <NewKeyCard />
      <section class={style.card} aria-labelledby="keys">
        <h2 id="keys">Your keys</h2>
        <Loaded
          of={keys}
          isEmpty={(all) => all.length === 0}
          empty={<EmptyNote title="No personal API keys" icon="link" />}
        >
          {(all) => (
            <ul class={style.list}>
              {all.map((key) => (
                <KeyRow key={key.id} personal_key={key} onRevoke={() => setEnding(key)} />
              ))}
            </ul>
          )}
        </Loaded>
      </section>
      {ending !== null && (
        <ConfirmDialog
          title={`Revoke “${ending.label}”?`}
          action="Revoke"
          onConfirm={async () => {
            await revokeKey(ending.id)
          }}
          onClose={() => setEnding(null)}
        >
          <p>Programs that use it are refused from now on.</p>
        </ConfirmDialog>
      )}
    </div>
  )
}

function NewKeyCard(): VNode {
  const project = useProject()
  const [label, setLabel] = useState('')
  const [right, setRight] = useState<string>('query')
  const [is_limited, setLimited] = useState(true)
  const [value, setValue] = useState<string | null>(null)
  const make = async (): Promise<void> => {
    const scopes = RIGHTS.find((one) => one.value === right)?.scopes ?? []
    setValue(await makeKey(label, scopes, is_limited ? project.id : null))
    setLabel('')
  }
  return (
    <section class={style.card} aria-labelledby="new-key">
      <h2 id="new-key">New personal API key</h2>
      <p class={style.hint}>
        For programs that read or change things in your name. Keep it secret.
      </p>
      <Form action="Create key" fields={['label', 'scopes']} onSubmit={make}>
        {(error) => (
          <>
            <TextField
              label="Name"
              value={label}
              onInput={setLabel}
              maxLength={40}
              hint="At most 40 characters."
              error={fieldError(error, 'label')}
            />
            <SelectField
              label="Access"
              value={right}
              options={RIGHTS}
              onChange={setRight}
              error={fieldError(error, 'scopes')}
            />
            <Toggle label={`In “${project.name}” only`} is_on={is_limited} onChange={setLimited} />
          </>
        )}
      </Form>
      {value !== null && (
        <ShownOnce
          title="Personal API key"
          text={value}
          hint="It is shown only now: the server keeps a hash of it."
          onClose={() => setValue(null)}
        />
      )}
    </section>
  )
}

type KeyRowProps = { readonly personal_key: PersonalKey; readonly onRevoke: () => void }

function KeyRow({ personal_key, onRevoke }: KeyRowProps): VNode {
  const { label, mask_value, scopes, last_used_at } = personal_key
  const may = scopes.includes('*') ? 'everything' : scopes.join(', ')
  return (
    <li>
      <div class={style.who}>
        <strong>{label}</strong>
        <span>
          <code>{mask_value}</code>, access: {may},{' '}
          {last_used_at === null ? 'never used' : `used ${formatAgo(last_used_at)}`}
        </span>
      </div>
      <Button look="quiet" onClick={onRevoke} aria-label={`Revoke ${label}`}>
        Revoke
      </Button>
    </li>
  )
}
