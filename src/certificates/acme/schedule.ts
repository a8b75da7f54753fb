/** The times of orders: renewal at two thirds of a lifetime, retries further and further apart, few orders an hour. */
import { createHash } from 'node:crypto'
import { HOUR_MS, MINUTE_MS } from '../../time.ts'

const RENEWAL_SHARE = 2 / 3
/** Renewals are spread over this share of a lifetime after it, so that servers set up together do not ask together. */
const SPREAD_SHARE = 1 / 50

const FIRST_RETRY_MS = 5 * MINUTE_MS
const RETRY_MAX_MS = 6 * HOUR_MS
/** A longer wait that the authority asks for is cut to this. */
const ASKED_WAIT_MAX_MS = 24 * HOUR_MS

/** Let's Encrypt allows five failed validations of a name an hour. Restarts count too: the times are in the file. */
const ORDERS_PER_HOUR = 4

/** The time from which a certificate is renewed. It is the same after a restart. */
export function findRenewalTime(certificate: {
  readonly cert: string
  readonly valid_from: Date
  readonly valid_until: Date
}): Date {
  const { cert, valid_from, valid_until } = certificate
  const lifetime_ms = valid_until.getTime() - valid_from.getTime()
  const spread = createHash('sha256').update(cert).digest().readUInt32BE(0) / 2 ** 32
  return new Date(valid_from.getTime() + lifetime_ms * (RENEWAL_SHARE + SPREAD_SHARE * spread))
}

/** The wait after a number of failures in a row: doubled each time, with up to a quarter of jitter from `random` (0 to 1). */
export function findRetryDelay(failures: number, asked_ms: number, random: number): number {
  const doubled_ms = FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20)
  const delay_ms = Math.min(doubled_ms, RETRY_MAX_MS) * (1 + random / 4)
  return Math.max(delay_ms, Math.min(asked_ms, ASKED_WAIT_MAX_MS))
}

/** Attempts of the last hour. Times to come are those of a clock that was wrong. */
export function listRecent(attempts: readonly number[], now: Date): readonly number[] {
  return attempts.filter((time) => time <= now.getTime() && time > now.getTime() - HOUR_MS)
}

/** The time from which another order is allowed. */
export function findAllowedTime(attempts: readonly number[], now: Date): Date {
  const oldest = listRecent(attempts, now).at(-ORDERS_PER_HOUR)
  return oldest === undefined ? now : new Date(oldest + HOUR_MS)
}
