/** Slows down guessing: a token bucket per client network, charged only for unknown keys and invites. */
import { Refusal } from '../errors.ts'
import { networksOf, senderNetwork } from '../networks.ts'
import { clientIpFinder, type FindClientIp } from './client-ip.ts'
import type { ClientSocket } from './endpoint.ts'

export type FailedKeySettings = {
  /** Capacity of a bucket and tokens refilled per minute; 0 for no limit. */
  readonly per_minute: number
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trusted_proxies: readonly string[]
}

type FailureBucket = { tokens: number; filled_ms: number }

const MINUTE_MS = 60_000
/** The most networks in memory; the least recently charged one is evicted. */
const NETWORKS_MAX = 10_000

/**
 * Callers on this machine are not charged: without trusted proxies, all callers behind a local proxy share its
 * address, and one of them could lock the others out.
 */
const isThisMachine = networksOf(['127.0.0.0/8', '::1'])

export class FailedKeys {
  readonly #per_minute: number
  readonly #findClientIp: FindClientIp
  readonly #now: () => Date
  readonly #buckets = new Map<string, FailureBucket>()

  constructor({ per_minute, trusted_proxies }: FailedKeySettings, now: () => Date) {
    this.#per_minute = per_minute
    this.#findClientIp = clientIpFinder(trusted_proxies)
    this.#now = now
  }

  /** The number of networks in memory. */
  get size(): number {
    return this.#buckets.size
  }

  /**
   * Runs `look`, which finds something by a secret of the request, and charges the network when it refuses the
   * secret as unknown. A network without tokens is refused with `throttled` before the lookup, whether the
   * secret is right or wrong: otherwise the answer would still distinguish the two.
   */
  guard<Found>(request: Request, socket: ClientSocket, look: () => Found): Found {
    const address = this.#findClientIp(socket?.requestIP(request)?.address ?? '', request.headers)
    if (this.#per_minute === 0 || address === '' || isThisMachine(address)) return look()
    const network = senderNetwork(address)
    this.#requireToken(network)
    try {
      return look()
    } catch (error) {
      if (isUnknownSecret(error)) this.#takeToken(network)
      throw error
    }
  }

  #requireToken(network: string): void {
    const bucket = this.#buckets.get(network)
    if (bucket === undefined) return
    const tokens = this.#refill(bucket)
    if (tokens >= 1) return
    const retry_after_s = Math.ceil(((1 - tokens) * MINUTE_MS) / this.#per_minute / 1000)
    const detail = `Too many wrong keys came from this address. Expected available in ${retry_after_s} seconds.`
    throw new Refusal('throttled', detail, { retry_after_s })
  }

  #takeToken(network: string): void {
    const stored = this.#buckets.get(network)
    const bucket = stored ?? { tokens: this.#per_minute, filled_ms: this.#now().getTime() }
    bucket.tokens = Math.max(0, this.#refill(bucket) - 1)
    // Deleting and inserting moves it to the end of the eviction order.
    this.#buckets.delete(network)
    this.#buckets.set(network, bucket)
    if (this.#buckets.size <= NETWORKS_MAX) return
    for (const [oldest] of this.#buckets) {
      this.#buckets.delete(oldest)
      return
    }
  }

  #refill(bucket: FailureBucket): number {
    const now_ms = this.#now().getTime()
    const gained = (Math.max(0, now_ms - bucket.filled_ms) * this.#per_minute) / MINUTE_MS
    bucket.tokens = Math.min(this.#per_minute, bucket.tokens + gained)
    bucket.filled_ms = now_ms
    return bucket.tokens
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
