/** Event names and ids as text: other JSON values are printed as JSON, long ones are cut to 200 characters. */

/** Characters of an event name or distinct id. */
export const EVENT_TEXT_LENGTH_MAX = 200

/** A string as it is, any other value as JSON: the ids 12 and "12" are the same. */
export function propertyText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** The first `length_max` characters; a surrogate pair is never cut in half. */
export function cutText(text: string, length_max = EVENT_TEXT_LENGTH_MAX): string {
  if (text.length <= length_max) return text
  return Array.from(text.slice(0, length_max * 2))
    .slice(0, length_max)
    .join('')
    .toWellFormed()
}
