/** The frame of every page of a project: the menu beside it, palette and help over it, the page itself. */
import type { ComponentChildren, RefObject, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { PROJECT_PAGES } from '../pages.ts'
import { IconButton } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { type KeyBinding, keyNames, useKeys } from '../state/keys.ts'
import { HelpDialog } from './help.tsx'
import { useKeptFocus } from './kept-focus.ts'
import { BottomBar, FootMenu, SideMenu } from './navigation.tsx'
import { Palette } from './palette.tsx'
import { type LoggedIn, ProjectSwitch } from './project-switch.tsx'
import style from './shell.module.css'
import { UserMenu } from './user-menu.tsx'

type ShellProps = {
  readonly session: LoggedIn
  readonly children: ComponentChildren
}

/** Draws the menu and the page. */
export function Shell({ session, children }: ShellProps): VNode {
  const [over, setOver] = useState<'palette' | 'help' | null>(null)
  const openPalette = (): void => setOver('palette')
  const openHelp = (): void => setOver('help')
  const close = (): void => setOver(null)
  useShellKeys(openPalette, openHelp)
  const main = useFocusOnPage()
  useKeptFocus(main)
  return (
    <div class={style.shell}>
      <a class={style.skip} href="#main">
        Skip to the page
      </a>
      <header class={style.side}>
        <div class={style.project}>
          <Logo />
          <ProjectSwitch session={session} />
        </div>
        <button type="button" class={style.search} onClick={openPalette}>
          <Icon name="search" size={16} />
          <span>Search</span>
          <kbd>{keyNames('mod+k')}</kbd>
        </button>
        <span class={style.phoneOnly}>
          <IconButton icon="search" label="Search" onClick={openPalette} />
        </span>
        <SideMenu />
        <div class={style.foot}>
          <FootMenu />
          <UserMenu user={session.user} is_named onHelp={openHelp} />
        </div>
        <span class={style.phoneOnly}>
          <UserMenu user={session.user} onHelp={openHelp} />
        </span>
      </header>
      <main ref={main} id="main" class={style.main} tabIndex={-1}>
        {children}
      </main>
      <BottomBar />
      {over === 'palette' && <Palette session={session} onClose={close} onHelp={openHelp} />}
      {over === 'help' && <HelpDialog onClose={close} />}
    </div>
  )
}

/** The keys that work on every page. */
function useShellKeys(openPalette: () => void, openHelp: () => void): void {
  const [, navigate] = useLocation()
  const pages = PROJECT_PAGES.flatMap(({ key, title, folder }): readonly KeyBinding[] =>
    key === undefined
      ? []
      : [{ keys: `g ${key}`, text: title, group: 'Go to', run: () => navigate(`/${folder}`) }],
  )
  useKeys([
    ...pages,
    {
      keys: 'mod+k',
      text: 'Search everything',
      group: 'Everywhere',
      is_global: true,
      run: openPalette,
    },
    { keys: '?', text: 'This help', group: 'Everywhere', run: openHelp },
  ])
}

/**
 * Another page begins at its top, with the focus on it: screen readers would otherwise stay at the link that led to it.
 * Changes within a page leave the focus alone, unless what had it is gone, as the link in a list to one of its things.
 */
function useFocusOnPage(): RefObject<HTMLElement> {
  const main = useRef<HTMLElement>(null)
  const [path] = useLocation()
  const before = useRef(path)
  useEffect(() => {
    const is_other_page = folderOf(before.current) !== folderOf(path)
    const is_focus_gone = before.current !== path && document.activeElement === document.body
    before.current = path
    if (!is_other_page && !is_focus_gone) return
    scrollTo(0, 0)
    main.current?.focus({ preventScroll: true })
  }, [path])
  return main
}

const folderOf = (path: string): string | undefined => path.split('/')[1]

function Logo(): VNode {
  return (
    <svg class={style.logo} width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M5 21q3.7-5 7.3 0t7.4 0 7.3 0M5 13q3.7-5 7.3 0t7.4 0 7.3 0" />
    </svg>
  )
}
