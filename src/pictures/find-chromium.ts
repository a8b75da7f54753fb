/** Finds a Chromium on this machine. */

/** PROGRAMS: names under which systems install Chromium; the shells without windows come first, which need less memory. */
const PROGRAMS = [
  'chromium-headless-shell',
  'chrome-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
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
