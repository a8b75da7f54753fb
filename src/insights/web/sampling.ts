/** Sampling of web queries: whole users, with counts scaled up. */
import type { WebQueryMembers } from '../../contract/insights/web.ts'
import { refuseMember } from '../../errors.ts'
import type { JoinExpr } from '../../hogql/syntax/ast.ts'
import { eventsOf, scaleSample } from '../members/conditions.ts'

type SampledQuery = Pick<WebQueryMembers, 'sampling'>

/** The sampling rate of an answer: `denominator` is null without sampling. */
type SamplingRate = {
  readonly numerator: number
  readonly denominator: number | null
}

/**
 * The requested rate; all users where sampling is off or has no rate, since the exact answer is
 * fast enough. Refuses rates above one.
 */
export function samplingRateOf({ sampling }: SampledQuery): SamplingRate {
  const forced_rate = sampling?.enabled === true ? sampling.forceSamplingRate : null
  if (!forced_rate) return { numerator: 1, denominator: null }
  const rate = { numerator: forced_rate.numerator, denominator: forced_rate.denominator ?? null }
  if (factorOf(rate) <= 1) return rate
  const detail = 'A sample holds at most all users: the numerator is above the denominator.'
  throw refuseMember(detail, 'query__sampling__forceSamplingRate')
}

/** `events`, or the sample of them. Refuses rates above one. */
export const sampledEvents = (query: SampledQuery): JoinExpr =>
  eventsOf({ samplingFactor: factorOf(samplingRateOf(query)) })

/** A count scaled up from the sample; other values are unchanged. */
export function scaledCount(value: unknown, query: SampledQuery): unknown {
  if (value === null || value === undefined) return null
  return scaleSample(Number(value), { samplingFactor: factorOf(samplingRateOf(query)) })
}

const factorOf = ({ numerator, denominator }: SamplingRate): number =>
  numerator / (denominator ?? 1)
