/** Validates names of organizations, projects and keys. */
import { Refusal } from '../errors.ts'

/**
 * Trims a name and makes it well-formed text. Refuses an empty one, and one with more than `length_max` characters;
 * `attr` is the refused field.
 */
export function parseName(text: string, length_max: number, attr = 'name'): string {
  const name = text.trim().toWellFormed().replaceAll('\0', '')
  if (name === '') throw new Refusal('blank', 'This field may not be blank.', { attr })
  if (Array.from(name).length > length_max) {
    const detail = `Ensure this field has no more than ${length_max} characters.`
    throw new Refusal('max_length', detail, { attr })
  }
  return name
}
