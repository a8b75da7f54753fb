/** The login over a page whose session has ended: what was typed or opened there stays. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { LoginForm } from '../pages/login/login-form.tsx'
import { Dialog } from '../parts/overlays/dialog.tsx'
import type { SessionUser } from '../state/session.ts'

type LoginAgainProps = {
  readonly user: SessionUser
  /** When the server last said that there is no session: a closed dialog opens again after that. */
  readonly ended_at: number
}

/** Draws the dialog. */
export function LoginAgain({ user, ended_at }: LoginAgainProps): VNode | null {
  const [closed_at, setClosed] = useState(0)
  if (closed_at >= ended_at) return null
  return (
    <Dialog title="Log in to go on" onClose={() => setClosed(ended_at)}>
      <p>Your session has ended. This page stays as you left it.</p>
      <LoginForm email={user.email ?? ''} />
    </Dialog>
  )
}
