/** The user's own menu: theme, help, logging out. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/calls/call.ts'
import { queryClient } from '../api/calls/client.ts'
import { errorText } from '../parts/notes/error-note.tsx'
import { Menu } from '../parts/overlays/menu.tsx'
import { showToast } from '../parts/overlays/toast.tsx'
import { BASE_PATH } from '../state/base-path.ts'
import { announceSession, type SessionUser } from '../state/session.ts'
import { chooseTheme, readTheme, type Theme } from '../state/theme.ts'

const THEME_ITEMS = [
  { theme: 'light', text: 'Light', icon: 'sun' },
  { theme: 'dark', text: 'Dark', icon: 'moon' },
  { theme: 'system', text: 'System', icon: 'system' },
] as const

type UserMenuProps = {
  readonly user: SessionUser
  /** Shows the name beside the icon. */
  readonly is_named?: boolean
  readonly onHelp: () => void
}

/** Draws the button with the user's name, and the menu. */
export function UserMenu({ user, is_named = false, onHelp }: UserMenuProps): VNode {
  const [theme, setTheme] = useState(readTheme())
  const choose = (next: Theme): void => {
    chooseTheme(next)
    setTheme(next)
  }
  const themes = THEME_ITEMS.map((item) => ({
    text: item.text,
    icon: item.icon,
    is_checked: item.theme === theme,
    onSelect: () => choose(item.theme),
  }))
  const items = [
    { text: 'Your account', icon: 'settings', href: '/settings/account' },
    null,
    ...themes,
    null,
    { text: 'Keyboard shortcuts', icon: 'help', hint: '?', onSelect: onHelp },
    { text: 'API', icon: 'link', onSelect: () => location.assign(`${BASE_PATH}/docs`) },
    null,
    { text: 'Log out', icon: 'logout', onSelect: () => void logOut() },
  ] as const
  const name = [user.first_name, user.last_name].filter(Boolean).join(' ') || user.email || 'You'
  return <Menu label={name} icon="user" items={items} {...(is_named && { text: name })} />
}

/** Ends the session. Everything that was asked with it is forgotten: the next user of this browser may see less. */
export async function logOut(): Promise<void> {
  try {
    await call('POST', '/api/logout/')
    announceSession()
    queryClient.clear()
    location.assign(`${BASE_PATH}/login`)
  } catch (error) {
    showToast({ text: errorText(error) })
  }
}
