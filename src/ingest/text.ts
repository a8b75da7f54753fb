/** How names and ids become text: anything but text as its JSON, and never longer than 200 characters. */

/** Longest event name, distinct id or definition, in characters. */
export const NAME_LENGTH_MAX = 200

/** Text as it is; anything else as its JSON, so that 12 and "12" are the same id. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** At most 200 characters, never half of one. */
export function cutText(text: string): string {
  if (text.length <= NAME_LENGTH_MAX) return text
  return Array.from(text.slice(0, NAME_LENGTH_MAX * 2))
    .slice(0, NAME_LENGTH_MAX)
    .join('')
    .toWellFormed()
}
