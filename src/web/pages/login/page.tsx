/** The login, which leads back to where it was needed. */
import type { VNode } from 'preact'
import { Redirect, useSearch } from 'wouter-preact'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { useSession } from '../../state/session.ts'
import { CommandLine } from '../outer/command-line.tsx'
import { OuterFrame } from '../outer/outer-frame.tsx'
import { LoginForm } from './login-form.tsx'

/** The page. `?next=` is the address that it leads to. */
export function LoginPage(): VNode {
  const next = safeAddress(new URLSearchParams(useSearch()).get('next'))
  return (
    <Loaded of={useSession()}>
      {({ state }) => {
        if (state === 'in') return <Redirect to={next} replace />
        if (state === 'setup') return <Redirect to="/setup" replace />
        return (
          <OuterFrame title="Log in" foot={<Forgotten />}>
            <LoginForm />
          </OuterFrame>
        )
      }}
    </Loaded>
  )
}

function Forgotten(): VNode {
  return (
    <details>
      <summary>Forgotten your password?</summary>
      <p>An administrator of this server can create a link that sets a new one:</p>
      <CommandLine command="tidemark user link you@example.com" />
    </details>
  )
}

/** An address of our own pages; a link from outside must not lead elsewhere after the login. */
function safeAddress(next: string | null): string {
  return next !== null && /^\/(?![/\\])/.test(next) && !next.startsWith('/login') ? next : '/'
}
