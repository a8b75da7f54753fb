/** Outliers of a metric: winsorization bounds by percentile, or one threshold. */
import { refuseMember } from '../../../errors.ts'

/** Figures beyond the bounds count as the bounds (winsorization); null for no bound. */
export type Outliers = {
  /** The percentile of the lower bound, as a share. */
  readonly lower: number | null
  readonly upper: number | null
  /** The upper percentile is over actors with a nonzero figure. */
  readonly ignores_zeros: boolean
}

type RawOutliers = Readonly<Record<string, unknown>>

/**
 * Parses a metric's bounds; null for none. Refuses (naming `attr`) values that are not shares, and
 * bounds that cross.
 */
export function readOutliers(raw: RawOutliers, attr: string): Outliers | null {
  const lower = shareOf(raw, 'lower_bound_percentile', attr)
  const upper = shareOf(raw, 'upper_bound_percentile', attr)
  if (lower === null && upper === null) return null
  if (lower !== null && upper !== null && lower > upper) {
    const detail = 'lower_bound_percentile must not be above upper_bound_percentile.'
    throw refuseMember(detail, attr)
  }
  return { lower, upper, ignores_zeros: raw['ignore_zeros'] === true }
}

/** Parses the threshold at which a figure counts as 1, else 0; null for none. */
export function readThreshold({ threshold }: RawOutliers, attr: string): number | null {
  if (threshold === undefined || threshold === null) return null
  if (typeof threshold === 'number') return threshold
  throw refuseMember('threshold must be a number.', attr)
}

function shareOf(raw: RawOutliers, name: string, attr: string): number | null {
  const share = raw[name]
  if (share === undefined || share === null) return null
  if (typeof share === 'number' && share >= 0 && share <= 1) return share
  throw refuseMember(`${name} must be a number from 0 to 1.`, attr)
}
