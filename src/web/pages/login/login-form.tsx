/** Email and password. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { logIn } from '../../api/login.ts'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { PasswordField } from '../../parts/fields/password-field.tsx'

const FIELDS = ['email', 'password']

/** Draws the form. The session changes when it succeeds, and the page around it draws itself again. */
export function LoginForm({ email: known = '' }: { readonly email?: string }): VNode {
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  return (
    <Form action="Log in" fields={FIELDS} onSubmit={() => logIn(email, password)} is_wide>
      {(error) => (
        <>
          <TextField
            label="Email"
            name="email"
            type="email"
            autocomplete="username"
            required
            value={email}
            onInput={setEmail}
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- the only thing to do on the page
            autoFocus={known === ''}
            error={fieldError(error, 'email')}
          />
          <PasswordField
            value={password}
            onInput={setPassword}
            is_focused={known !== ''}
            error={fieldError(error, 'password')}
          />
        </>
      )}
    </Form>
  )
}
