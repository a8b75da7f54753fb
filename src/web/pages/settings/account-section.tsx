/** The user's own account: the name, the password, the browsers in which the user is logged in. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import {
  type BrowserSession,
  changeFirstName,
  changePassword,
  endBrowserSession,
  useBrowserSessions,
} from '../../api/settings.ts'
import { Button } from '../../parts/button.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { PasswordField } from '../../parts/fields/password-field.tsx'
import { formatAgo } from '../../parts/format.ts'
import { errorText } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useSession } from '../../state/session.ts'
import style from './settings.module.css'

/** Draws the section. */
export function AccountSection(): VNode | null {
  const { data } = useSession()
  if (data?.state !== 'in') return null
  const { user } = data
  return (
    <div class={style.cards}>
      <NameCard first_name={user.first_name} email={user.email} />
      <PasswordCard email={user.email} />
      <SessionCard />
    </div>
  )
}

type NameCardProps = { readonly first_name: string; readonly email: string | null }

function NameCard({ first_name, email }: NameCardProps): VNode {
  const [name, setName] = useState(first_name)
  const save = async (): Promise<void> => {
    await changeFirstName(name)
    showToast({ text: 'Name saved' })
  }
  return (
    <section class={style.card} aria-labelledby="name">
      <h2 id="name">You</h2>
      <p class={style.hint}>You log in as {email ?? 'a user without an address'}.</p>
      <Form action="Save" fields={['first_name']} onSubmit={save}>
        {(error) => (
          <TextField
            label="Your name"
            value={name}
            onInput={setName}
            autocomplete="given-name"
            maxLength={30}
            error={fieldError(error, 'first_name')}
          />
        )}
      </Form>
    </section>
  )
}

function PasswordCard({ email }: { readonly email: string | null }): VNode {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const save = async (): Promise<void> => {
    await changePassword(current, password)
    setCurrent('')
    setPassword('')
    showToast({ text: 'Password changed. You are logged out everywhere else.' })
  }
  return (
    <section class={style.card} aria-labelledby="password">
      <h2 id="password">Password</h2>
      <Form
        is_minor
        action="Change password"
        fields={['current_password', 'password']}
        onSubmit={save}
      >
        {(error) => (
          <>
            {/* Password managers store the new password under it. */}
            <input type="email" autocomplete="username" value={email ?? ''} readOnly hidden />
            <PasswordField
              label="Current password"
              value={current}
              onInput={setCurrent}
              error={fieldError(error, 'current_password')}
            />
            <PasswordField
              is_new
              label="New password"
              value={password}
              onInput={setPassword}
              error={fieldError(error, 'password')}
            />
          </>
        )}
      </Form>
    </section>
  )
}

function SessionCard(): VNode {
  const all = useBrowserSessions()
  return (
    <section class={style.card} aria-labelledby="sessions">
      <h2 id="sessions">Where you are logged in</h2>
      <Loaded of={all}>
        {(list) => {
          const others = list.filter(({ is_current }) => !is_current)
          return (
            <>
              <ul class={style.list}>
                {list.map((session) => (
                  <SessionRow
                    key={session.id}
                    session={session}
                    onEnd={() => void endSessions([session])}
                  />
                ))}
              </ul>
              {others.length > 1 && (
                <Button onClick={() => void endSessions(others)}>Log out everywhere else</Button>
              )}
            </>
          )
        }}
      </Loaded>
    </section>
  )
}

async function endSessions(sessions: readonly BrowserSession[]): Promise<void> {
  try {
    await Promise.all(sessions.map(({ id }) => endBrowserSession(id)))
  } catch (error) {
    showToast({ text: errorText(error) })
  }
}

type SessionRowProps = { readonly session: BrowserSession; readonly onEnd: () => void }

function SessionRow({ session, onEnd }: SessionRowProps): VNode {
  const { is_current, user_agent, ip, seen_at } = session
  const name = browserName(user_agent)
  const age = formatAgo(seen_at)
  return (
    <li>
      <div class={style.who}>
        <strong>{name}</strong>
        <span>
          {ip === '' ? 'unknown address' : ip}, {is_current ? 'this browser' : age}
        </span>
      </div>
      {!is_current && (
        <Button look="quiet" onClick={onEnd} aria-label={`Log out ${name}, ${ip}, ${age}`}>
          Log out
        </Button>
      )}
    </li>
  )
}

const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const

const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** The browser's name: `Firefox on Linux`, or its user agent when it is unknown. */
function browserName(user_agent: string): string {
  const browser = BROWSERS.find(([mark]) => user_agent.includes(mark))?.[1]
  const system = SYSTEMS.find(([mark]) => user_agent.includes(mark))?.[1]
  if (browser === undefined) return user_agent.slice(0, 60) || 'Unknown browser'
  return system === undefined ? browser : `${browser} on ${system}`
}
