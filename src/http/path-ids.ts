/** Parses ids in paths; a malformed id is answered 404. */
import { Refusal } from '../errors.ts'
import { isUuid } from '../uuid.ts'
import type { PathParams } from './endpoint.ts'

/** Parses the number `:id` of the path. Refuses anything else as not found. */
export function parseNumberId(params: PathParams): number {
  const text = params['id'] ?? ''
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new Refusal('not_found', 'Not found.')
}

/** Parses a UUID in the path, in lower case. Refuses anything else as not found. */
export function parseUuidId(params: PathParams, name = 'id'): string {
  const text = (params[name] ?? '').toLowerCase()
  if (isUuid(text)) return text
  throw new Refusal('not_found', 'Not found.')
}
