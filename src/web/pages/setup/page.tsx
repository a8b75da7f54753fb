/** The first setup: the owner's name, address and password, with the code that the server printed. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Redirect, useLocation } from 'wouter-preact'
import { setUp } from '../../api/login.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { PasswordField } from '../../parts/fields/password-field.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { useSession } from '../../state/session.ts'
import { useHash } from '../../state/url.ts'
import { CommandLine } from '../outer/command-line.tsx'
import style from '../outer/outer.module.css'
import { OuterFrame } from '../outer/outer-frame.tsx'

const FIELDS = ['code', 'email', 'password', 'first_name', 'organization_name']

/** The page. */
export function SetupPage(): VNode {
  return (
    <Loaded of={useSession()}>
      {({ state }) => {
        if (state === 'in') return <Redirect to="/" replace />
        return state === 'setup' ? <SetupForm /> : <AlreadySetUp />
      }}
    </Loaded>
  )
}

function AlreadySetUp(): VNode {
  return (
    <OuterFrame
      title="This server is set up already"
      lead="The first password has been set already."
    >
      <ButtonLink href="/login" look="main">
        Log in
      </ButtonLink>
    </OuterFrame>
  )
}

function SetupForm(): VNode {
  const [, navigate] = useLocation()
  const link_code = useHash().slice(1)
  const [values, setValues] = useState(NO_VALUES)
  const submit = async (): Promise<void> => {
    const { first_name, organization_name, ...more } = values
    const timezone = browserZone()
    await setUp({
      ...more,
      code: more.code === '' ? link_code : more.code,
      ...(first_name.trim() !== '' && { first_name }),
      ...(organization_name.trim() !== '' && { organization_name }),
      ...(timezone !== null && { timezone }),
    })
    navigate('/', { replace: true })
  }
  return (
    <OuterFrame title="Set up Tidemark" lead="You are the first here, and will own this server.">
      {link_code === '' && <WhereIsTheCode />}
      <Form action="Create account" fields={FIELDS} onSubmit={submit} is_wide>
        {(error) => (
          <SetupFields
            values={values}
            onChange={(change) => setValues({ ...values, ...change })}
            error={error}
            has_code={link_code !== ''}
          />
        )}
      </Form>
    </OuterFrame>
  )
}

const NO_VALUES = { code: '', first_name: '', email: '', password: '', organization_name: '' }

type SetupFieldsProps = {
  readonly values: typeof NO_VALUES
  readonly onChange: (change: Partial<typeof NO_VALUES>) => void
  readonly error: unknown
  /** The code came with the address: it is shown only when it is wrong. */
  readonly has_code: boolean
}

function SetupFields({ values, onChange, error, has_code }: SetupFieldsProps): VNode {
  const code_error = fieldError(error, 'code')
  return (
    <>
      {(!has_code || code_error !== null) && (
        <TextField
          label="Setup code"
          name="code"
          value={values.code}
          onInput={(code) => onChange({ code })}
          placeholder="K7QP-2MXT-9RWD"
          autocomplete="one-time-code"
          autocapitalize="characters"
          spellcheck={false}
          required
          error={code_error && WRONG_CODE}
        />
      )}
      <TextField
        label="Your name (optional)"
        name="first_name"
        value={values.first_name}
        onInput={(first_name) => onChange({ first_name })}
        autocomplete="given-name"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- the only thing to do on the page
        autoFocus={has_code}
        maxLength={30}
        error={fieldError(error, 'first_name')}
      />
      <TextField
        label="Email"
        name="email"
        type="email"
        value={values.email}
        onInput={(email) => onChange({ email })}
        autocomplete="username"
        required
        hint="To log in with. Nothing is sent to it."
        error={fieldError(error, 'email')}
      />
      <PasswordField
        is_new
        value={values.password}
        onInput={(password) => onChange({ password })}
        error={fieldError(error, 'password')}
      />
      <TextField
        label="Organization (optional)"
        name="organization"
        value={values.organization_name}
        onInput={(organization_name) => onChange({ organization_name })}
        autocomplete="organization"
        maxLength={64}
        error={fieldError(error, 'organization_name')}
      />
    </>
  )
}

function WhereIsTheCode(): VNode {
  return (
    <div class={style.note}>
      <p>
        Tidemark printed an address when it started: in its terminal, or in the log of its service
        or container. <strong>Open that address</strong>, or type the code at its end here.
      </p>
      <p>More than a day ago? This prints a new one, on the server:</p>
      <CommandLine command="tidemark user link" />
    </div>
  )
}

/** The browser's time zone; null where it has none. */
function browserZone(): string | null {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || null
}

const WRONG_CODE = 'This code is not valid, or no longer. Use the last one that the server printed.'
