/** Parses timestamps in bodies: ISO 8601, in UTC without a zone. */
import { Refusal } from '../../errors.ts'

const ISO = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[+-]\d{2}:?\d{2}))?)?$/i

/** Parses a timestamp; null stays null, undefined undefined. Refuses anything else, naming the field. */
export function parseTimestamp(
  text: string | null | undefined,
  attr: string,
): Date | null | undefined {
  if (text === null || text === undefined) return text
  const has_zone = /(Z|[+-]\d{2}:?\d{2})$/i.test(text) || text.length <= 10
  const moment = new Date(has_zone ? text : `${text}Z`)
  if (ISO.test(text) && !Number.isNaN(moment.getTime())) return moment
  const detail =
    'Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].'
  throw new Refusal('invalid_input', detail, { attr })
}
