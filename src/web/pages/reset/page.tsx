/** A link that sets a password: for a first login, or when it was forgotten. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { ApiError } from '../../api/calls/call.ts'
import { resetPassword } from '../../api/login.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { fieldError } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { PasswordField } from '../../parts/fields/password-field.tsx'
import { useHash } from '../../state/url.ts'
import { CommandLine } from '../outer/command-line.tsx'
import { OuterFrame } from '../outer/outer-frame.tsx'

const FIELDS = ['password']

/** The page. */
export function ResetPage(): VNode {
  const [, navigate] = useLocation()
  const token = useHash().slice(1)
  const [password, setPassword] = useState('')
  /** The token that the server refused. */
  const [over_token, setOver] = useState('')
  const submit = async (): Promise<void> => {
    try {
      await resetPassword(token, password)
    } catch (error) {
      if (error instanceof ApiError && error.attr === 'token') return setOver(token)
      throw error
    }
    navigate('/', { replace: true })
    return undefined
  }
  if (token === over_token) return <LinkIsOver />
  return (
    <OuterFrame title="Choose a password" lead="You are logged out everywhere else.">
      <Form action="Set password and log in" fields={FIELDS} onSubmit={submit} is_wide>
        {(error) => (
          <PasswordField
            is_new
            is_focused
            label="New password"
            value={password}
            onInput={setPassword}
            error={fieldError(error, 'password')}
          />
        )}
      </Form>
    </OuterFrame>
  )
}

function LinkIsOver(): VNode {
  return (
    <OuterFrame
      title="This link is no longer valid"
      lead="It works once, within an hour. An administrator of this server can create a new one:"
    >
      <CommandLine command="tidemark user link you@example.com" />
      <ButtonLink href="/">Go to Tidemark</ButtonLink>
    </OuterFrame>
  )
}
