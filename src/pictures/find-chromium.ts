/** Finds a Chromium on this machine. */

/** PROGRAMS: names under which systems install Chromium. */
const PROGRAMS = [
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'chrome-headless-shell',
] as const

/** Returns the path of the program that the setting means: `auto` looks in PATH, `off` is none. */
export function findChromium(setting: string): string | null {
  if (setting === 'off') return null
  if (setting !== 'auto') return setting
  for (const name of PROGRAMS) {
    const path = Bun.which(name)
    if (path !== null) return path
  }
  return null
}
