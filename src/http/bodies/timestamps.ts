/** Parses timestamps in bodies and addresses: ISO 8601, in UTC without a zone. */
import { Refusal } from '../../errors.ts'

const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?: ?(Z|[+-]\d{2}:?\d{2}))?)?$/i

/** Reads a timestamp; null for other texts, and for days that do not exist, which `Date` would move into the next month. */
export function readTimestamp(text: string): Date | null {
  const [, day, clock = '00:00', zone = 'Z'] = ISO.exec(text) ?? []
  const midnight = new Date(`${day}T00:00Z`)
  const moment = new Date(`${day}T${clock}${zone.toUpperCase()}`)
  if (Number.isNaN(midnight.getTime()) || Number.isNaN(moment.getTime())) return null
  return midnight.toISOString().slice(0, 10) === day ? moment : null
}

/** Parses a timestamp; null stays null, undefined undefined. Refuses anything else, naming the field. */
export function parseTimestamp(
  text: string | null | undefined,
  attr: string,
): Date | null | undefined {
  if (text === null || text === undefined) return text
  const moment = readTimestamp(text)
  if (moment !== null) return moment
  const detail =
    'Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].'
  throw new Refusal('invalid_input', detail, { attr })
}
