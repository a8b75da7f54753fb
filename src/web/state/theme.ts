/** The theme: light, dark, or that of the system. */
import { readStored, store } from './store.ts'

const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** Returns the chosen theme. */
export function readTheme(): Theme {
  const stored = readStored('theme')
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

/** Chooses a theme, now and for later visits. */
export function chooseTheme(theme: Theme): void {
  store('theme', theme === 'system' ? null : theme)
  applyTheme()
}

/** Puts the chosen theme on the page. */
export function applyTheme(): void {
  const theme = readTheme()
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}
