/** The palette: everything that has a name, found by typing. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { useSearchAll } from '../api/search.ts'
import { PROJECT_PAGES } from '../pages.ts'
import { Combobox, type ComboOption } from '../parts/fields/combobox.tsx'
import { Dialog } from '../parts/overlays/dialog.tsx'
import { chooseTheme } from '../state/theme.ts'
import { inProject, type LoggedIn, projectOptions } from './project-switch.tsx'
import { logOut } from './user-menu.tsx'

type PaletteProps = {
  readonly session: LoggedIn
  readonly onClose: () => void
  readonly onHelp: () => void
}

type PaletteEntry = ComboOption & { readonly run: () => void }

/** Draws the dialog with its search field. */
export function Palette({ session, onClose, onHelp }: PaletteProps): VNode {
  const [search, setSearch] = useState('')
  const [path, navigate] = useLocation()
  const found = useSearchAll(search)
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = ({ text }: ComboOption): boolean =>
    words.every((word) => text.toLowerCase().includes(word))
  const own: readonly PaletteEntry[] = [
    ...PROJECT_PAGES.filter(({ place }) => place !== 'none').map(
      ({ folder, title, icon, key }) => ({
        value: `page:${folder}`,
        text: title,
        icon,
        group: 'Pages',
        ...(key !== undefined && { hint: `g ${key}` }),
        run: () => navigate(`/${folder}`),
      }),
    ),
    ...otherProjects(session).map((option) => ({
      ...option,
      run: () => navigate(inProject(option.value.slice('project:'.length), path)),
    })),
    ...COMMANDS,
    { value: 'help', text: 'Keyboard shortcuts', icon: 'help', group: 'Commands', run: onHelp },
  ]
  const things = found.things.map(({ href, ...option }) => ({
    ...option,
    run: () => navigate(href),
  }))
  const entries = [...own.filter(matches), ...things]
  return (
    <Dialog title="Go to" is_bare onClose={onClose}>
      <Combobox
        label="Pages, insights, persons, events, commands"
        placeholder="Search pages, events, persons…"
        options={entries}
        onSearch={setSearch}
        is_loading={found.is_loading}
        {...(found.failed.length > 0 && {
          fault: `Could not be searched: ${found.failed.join(', ').toLowerCase()}.`,
        })}
        onPick={({ value }) => {
          onClose()
          entries.find((one) => one.value === value)?.run()
        }}
      />
    </Dialog>
  )
}

function otherProjects(session: LoggedIn): readonly ComboOption[] {
  if (session.projects.length < 2) return []
  return projectOptions(session).map(({ value, text, group }) => ({
    value: `project:${value}`,
    text,
    icon: 'switch',
    group: 'Projects',
    ...(group !== undefined && { hint: group }),
  }))
}

/** COMMANDS: the actions that every page offers. Adding one means adding a line. */
const COMMANDS: readonly PaletteEntry[] = [
  {
    value: 'light',
    text: 'Light theme',
    icon: 'sun',
    group: 'Commands',
    run: () => chooseTheme('light'),
  },
  {
    value: 'dark',
    text: 'Dark theme',
    icon: 'moon',
    group: 'Commands',
    run: () => chooseTheme('dark'),
  },
  {
    value: 'system',
    text: 'System theme',
    icon: 'system',
    group: 'Commands',
    run: () => chooseTheme('system'),
  },
  { value: 'logout', text: 'Log out', icon: 'logout', group: 'Commands', run: () => void logOut() },
]
