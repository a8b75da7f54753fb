/** Slows down guessing: a token bucket per client network, charged only for unknown keys and invites. */

import { Refusal } from '../../errors.ts'
import { isLoopback, senderNetwork } from '../../networks.ts'
import { MINUTE_MS } from '../../time.ts'
import type { ClientSocket } from '../endpoint.ts'
import { clientIpFinder, type FindClientIp } from './client-ip.ts'
import { FailureBuckets } from './failure-buckets.ts'

type FailedKeySettings = {
  /** Capacity of a bucket and tokens refilled per minute; 0 for no limit. */
  readonly per_minute: number
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trusted_proxies: readonly string[]
}

export class FailedKeys {
  readonly #per_minute: number
  readonly #findClientIp: FindClientIp
  readonly #buckets: FailureBuckets

  constructor({ per_minute, trusted_proxies }: FailedKeySettings, now: () => Date) {
    this.#per_minute = per_minute
    this.#findClientIp = clientIpFinder(trusted_proxies)
    this.#buckets = new FailureBuckets({ tokens_max: per_minute, window_ms: MINUTE_MS }, now)
  }

  /** The number of networks in memory. */
  get size(): number {
    return this.#buckets.size
  }

  /**
   * Runs `look`, which finds something by a secret of the request, and charges the network when it refuses the
   * secret as unknown. A network without tokens is refused with `throttled` before the lookup, whether the
   * secret is right or wrong: otherwise the answer would still distinguish the two. `family` names paths with buckets
   * apart.
   */
  guard<Found>(request: Request, socket: ClientSocket, look: () => Found, family = ''): Found {
    const findNetwork = (): string | null => this.#findNetwork(request, socket, family)
    // While no bucket is charged, nearly always, the address need not be known.
    const network = this.#buckets.size === 0 ? null : findNetwork()
    if (network !== null) this.#requireToken(network)
    try {
      return look()
    } catch (error) {
      const charged = isUnknownSecret(error) ? findNetwork() : null
      if (charged !== null) this.#buckets.charge(charged)
      throw error
    }
  }

  /**
   * The name of the bucket of a request's network; null for a request that is not charged. Callers on this machine are
   * not: without trusted proxies, all callers behind a local proxy share its address, and one of them could lock the
   * others out.
   */
  #findNetwork(request: Request, socket: ClientSocket, family: string): string | null {
    const address = this.#findClientIp(request, socket)
    if (this.#per_minute === 0 || address === '' || isLoopback(address)) return null
    return `${family}${senderNetwork(address)}`
  }

  #requireToken(network: string): void {
    const retry_after_s = this.#buckets.waitOf(network)
    if (retry_after_s === 0) return
    const detail = `Too many wrong keys came from this address. Expected available in ${retry_after_s} seconds.`
    throw new Refusal('throttled', detail, { retry_after_s })
  }
}

/**
 * Whether a refusal means an unknown secret. Only lookups by a secret are guarded, so "not found" means that
 * there is no such secret.
 */
function isUnknownSecret(error: unknown): boolean {
  if (!(error instanceof Refusal)) return false
  return error.code === 'authentication_failed' || error.code === 'not_found'
}
