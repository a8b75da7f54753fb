/** A sample of visitors, where a question about visits asks for one: whole users, counted up to all of them. */
import type { WebQuestionMembers } from '../../contract/insights/web.ts'
import { Refusal } from '../../errors.ts'
import type { JoinExpr } from '../../hogql/ast-parts.ts'
import { eventsOf, scaled } from '../conditions.ts'

type Sampled = Pick<WebQuestionMembers, 'sampling'>

/** The share of users that was looked at, as it is told: `denominator` is null where it is one. */
export type SamplingRate = {
  readonly numerator: number
  readonly denominator: number | null
}

/**
 * The rate that is asked for; all users where sampling is off, and where no rate is named, as then the exact answer is
 * quick enough. Refuses rates above one.
 */
export function samplingRateOf({ sampling }: Sampled): SamplingRate {
  const forced = sampling?.enabled === true ? sampling.forceSamplingRate : null
  if (!forced) return { numerator: 1, denominator: null }
  const rate = { numerator: forced.numerator, denominator: forced.denominator ?? null }
  if (factorOf(rate) <= 1) return rate
  const detail = 'A sample holds at most all users: the numerator is above the denominator.'
  throw new Refusal('invalid_input', detail, { attr: 'query__sampling__forceSamplingRate' })
}

/** `events`, or the sample of them. Refuses rates above one. */
export const sampledEvents = (question: Sampled): JoinExpr =>
  eventsOf({ samplingFactor: factorOf(samplingRateOf(question)) })

/** A count of the sample as one of all users; what is none, and what is null, stays as it is. */
export function scaledCount(value: unknown, question: Sampled): unknown {
  if (value === null || value === undefined) return null
  return scaled(Number(value), { samplingFactor: factorOf(samplingRateOf(question)) })
}

const factorOf = ({ numerator, denominator }: SamplingRate): number =>
  numerator / (denominator ?? 1)
