/** What is done with figures that are far from all others: bounds by share of people, or one bound to reach. */
import { Refusal } from '../../errors.ts'

/** Figures beyond the bounds count as the bounds (winsorization); null for no bound. */
export type Outliers = {
  /** The share of people below the lower bound. */
  readonly lower: number | null
  readonly upper: number | null
  /** The upper bound is that of people who did anything. */
  readonly ignores_zeros: boolean
}

type RawOutliers = Readonly<Record<string, unknown>>

/** Reads the bounds of a metric; null for none. Refuses (naming `attr`) what is no share, and bounds that cross. */
export function readOutliers(raw: RawOutliers, attr: string): Outliers | null {
  const lower = shareOf(raw, 'lower_bound_percentile', attr)
  const upper = shareOf(raw, 'upper_bound_percentile', attr)
  if (lower === null && upper === null) return null
  if (lower !== null && upper !== null && lower > upper) {
    const detail = 'lower_bound_percentile must not be above upper_bound_percentile.'
    throw new Refusal('invalid_input', detail, { attr })
  }
  return { lower, upper, ignores_zeros: raw['ignore_zeros'] === true }
}

/** Reads what a person's figure has to reach to count as 1, else 0; null for no such thing. */
export function readThreshold({ threshold }: RawOutliers, attr: string): number | null {
  if (threshold === undefined || threshold === null) return null
  if (typeof threshold === 'number') return threshold
  throw new Refusal('invalid_input', 'threshold must be a number.', { attr })
}

function shareOf(raw: RawOutliers, name: string, attr: string): number | null {
  const share = raw[name]
  if (share === undefined || share === null) return null
  if (typeof share === 'number' && share >= 0 && share <= 1) return share
  throw new Refusal('invalid_input', `${name} must be a number from 0 to 1.`, { attr })
}
