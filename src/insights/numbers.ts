/**
 * A limit of an answer's size: buckets without events are filled with zeros here, which no engine
 * limit sees.
 */
import { Refusal } from '../errors.ts'

/** A thousand values for each day of a year, and a little more. */
const NUMBERS_MAX = 400_000

/** Refuses (`query_too_large`) an answer of more numbers, before they are made. */
export function requireNumbers(count: number): void {
  if (count <= NUMBERS_MAX) return
  const detail = `The answer has more than ${NUMBERS_MAX} numbers: ask for fewer values, or longer steps.`
  throw new Refusal('query_too_large', detail, { attr: 'query__breakdownFilter' })
}
