/** How names and ids become text: anything but text as its JSON, and never longer than 200 characters. */

/** Longest event name, distinct id or definition, in characters. */
export const NAME_LENGTH_MAX = 200

/** Text as it is; anything else as its JSON, so that 12 and "12" are the same id. */
export function propertyText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** At most so many characters, never half of one. */
export function cutText(text: string, length_max = NAME_LENGTH_MAX): string {
  if (text.length <= length_max) return text
  return Array.from(text.slice(0, length_max * 2))
    .slice(0, length_max)
    .join('')
    .toWellFormed()
}
