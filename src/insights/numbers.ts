/** How much one answer may hold: steps without a number are filled up here, past every limit of the engine. */
import { Refusal } from '../errors.ts'

/** Each of a year's days for a thousand values, and a little more. */
const NUMBERS_MAX = 400_000

/** Refuses (`query_too_large`) an answer of more numbers than one may hold, before they are there. */
export function requireNumbers(count: number): void {
  if (count <= NUMBERS_MAX) return
  const detail = `The answer has more than ${NUMBERS_MAX} numbers: ask for fewer values, or longer steps.`
  throw new Refusal('query_too_large', detail, { attr: 'query__breakdownFilter' })
}
