/** An invite: a new user chooses a password, a user who is logged in joins with one click. */
import { useQuery } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { ApiError } from '../../api/calls/call.ts'
import { type InviteOffer, joinByInvite, readInvite } from '../../api/login.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { PasswordField } from '../../parts/fields/password-field.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { BASE_PATH } from '../../state/base-path.ts'
import { useSession } from '../../state/session.ts'
import { useHash } from '../../state/url.ts'
import { OuterFrame } from '../outer/outer-frame.tsx'

const FIELDS = ['first_name', 'email', 'password']

/** The page. */
export function JoinPage(): VNode {
  const token = useHash().slice(1)
  const session = useSession()
  const invite = useQuery<InviteOffer>({
    queryKey: ['invite', token],
    queryFn: () => readInvite(token),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (invite.error instanceof ApiError && invite.error.status === 404) return <InviteIsOver />
  return (
    <Loaded of={session}>
      {(now) => (
        <Loaded of={invite}>
          {(offer) =>
            now.state === 'in' ? (
              <JoinAsUser token={token} offer={offer} email={now.user.email} />
            ) : (
              <JoinAsNewcomer token={token} offer={offer} />
            )
          }
        </Loaded>
      )}
    </Loaded>
  )
}

type JoinProps = { readonly token: string; readonly offer: InviteOffer }

function JoinAsNewcomer({ token, offer }: JoinProps): VNode {
  const [, navigate] = useLocation()
  const [first_name, setFirstName] = useState(offer.first_name)
  const [email, setEmail] = useState(offer.target_email ?? '')
  const [password, setPassword] = useState('')
  const submit = async (): Promise<void> => {
    await joinByInvite(token, { first_name, email, password })
    navigate('/', { replace: true })
  }
  const next = encodeURIComponent(`/join#${token}`)
  return (
    <OuterFrame
      title={`Join ${offer.organization.name}`}
      lead="You are invited to its analytics."
      foot={
        <p>
          Already have an account? <a href={`${BASE_PATH}/login?next=${next}`}>Log in first</a>
        </p>
      }
    >
      <Form action="Join" fields={FIELDS} onSubmit={submit} is_wide>
        {(error) => (
          <>
            <TextField
              label="Your name"
              name="first_name"
              value={first_name}
              onInput={setFirstName}
              autocomplete="given-name"
              maxLength={30}
              required
              error={fieldError(error, 'first_name')}
            />
            <TextField
              label="Email"
              name="email"
              type="email"
              value={email}
              onInput={setEmail}
              autocomplete="username"
              readOnly={offer.target_email !== null}
              required
              hint="To log in with."
              error={fieldError(error, 'email')}
            />
            <PasswordField
              is_new
              value={password}
              onInput={setPassword}
              error={fieldError(error, 'password')}
            />
          </>
        )}
      </Form>
    </OuterFrame>
  )
}

function JoinAsUser({ token, offer, email }: JoinProps & { readonly email: string | null }): VNode {
  const [, navigate] = useLocation()
  const submit = async (): Promise<void> => {
    await joinByInvite(token, null)
    navigate('/', { replace: true })
  }
  return (
    <OuterFrame
      title={`Join ${offer.organization.name}`}
      lead={`You are logged in as ${email ?? 'a user without an address'}.`}
      foot={<a href={`${BASE_PATH}/`}>Not now</a>}
    >
      <Form action="Join" fields={[]} onSubmit={submit} is_wide>
        {() => null}
      </Form>
    </OuterFrame>
  )
}

function InviteIsOver(): VNode {
  return (
    <OuterFrame
      title="This invite is no longer valid"
      lead="It works once, for three days. Ask the person who invited you for a new one."
    >
      <ButtonLink href="/">Go to Tidemark</ButtonLink>
    </OuterFrame>
  )
}
