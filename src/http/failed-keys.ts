/** Slows guessing down: a token bucket per client network, from which only keys and invites that do not exist take. */
import { Refusal } from '../errors.ts'
import { networksOf, senderNetwork } from '../networks.ts'
import { clientIpFinder, type FindClientIp } from './client-ip.ts'
import type { ClientSocket } from './endpoint.ts'

export type FailedKeySettings = {
  /** Failed tries that a client network has at once, and gets back in a minute; 0 for no limit. */
  readonly per_minute: number
  /** Whose X-Forwarded-For is believed. */
  readonly trusted_proxies: readonly string[]
}

type FailureBucket = { tokens: number; filled_ms: number }

const MINUTE_MS = 60_000
/** Networks remembered; the one that was counted longest ago is forgotten first. */
const NETWORKS_MAX = 10_000

/**
 * Callers on this machine are not counted: without trusted proxies, all callers behind a proxy here look like it, and one
 * of them could lock the others out.
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

  /** Networks that are remembered now. */
  get size(): number {
    return this.#buckets.size
  }

  /**
   * Answers what `look` finds by a secret of the request, and counts when it refuses it as unknown. A client network
   * without tokens is refused with `throttled` before anything is looked up, right secret or wrong: else the answer would
   * still tell the two apart.
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
    // Taken out and put in again, it is the last one to be forgotten.
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

/** Only what is looked up by a secret is guarded, so that "not found" says that there is no such secret. */
function isUnknownSecret(error: unknown): boolean {
  if (!(error instanceof Refusal)) return false
  return error.code === 'authentication_failed' || error.code === 'not_found'
}
