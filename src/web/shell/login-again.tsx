/** The login over a page whose session has ended: the page below stays as it is. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { LoginForm } from '../pages/login/login-form.tsx'
import { Dialog } from '../parts/overlays/dialog.tsx'
import type { SessionUser } from '../state/session.ts'

type LoginAgainProps = {
  readonly user: SessionUser
  /** The time of the server's last 401: a closed dialog opens again after it. */
  readonly ended_at: number
}

/** Draws the dialog. */
export function LoginAgain({ user, ended_at }: LoginAgainProps): VNode | null {
  const [closed_at, setClosed] = useState(0)
  if (closed_at >= ended_at) return null
  return (
    <Dialog title="Log in to continue" onClose={() => setClosed(ended_at)}>
      <p>Your session has ended. This page stays as you left it.</p>
      <LoginForm email={user.email ?? ''} />
    </Dialog>
  )
}
