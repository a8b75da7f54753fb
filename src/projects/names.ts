/** What may be a name of an organization, a project or a key. */
import { Refusal } from '../errors.ts'

/**
 * Reads a name: blanks around it are cut, everything in it is well-formed text.
 * Refuses an empty one and one of more than `length_max` characters; `attr` is the field it was given in.
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
