/** Slows down guessing of passwords: token buckets per address of a user and per client network. */
import { Refusal } from '../../errors.ts'
import { isLoopback, senderNetwork } from '../../networks.ts'
import { FailureBuckets } from '../callers/failure-buckets.ts'

/** Ten tries at once, then one every 90 s. */
const RATE = { tokens_max: 10, window_ms: 15 * 60_000 } as const

/** One try of a password. */
type LoginTry = {
  readonly email: string
  /** The client's address; '' without a socket. */
  readonly ip: string
  /** Addresses that the user's sessions came from. */
  readonly session_ips: readonly string[]
}

export class LoginTries {
  readonly #emails: FailureBuckets
  readonly #networks: FailureBuckets

  constructor(now: () => Date) {
    this.#emails = new FailureBuckets(RATE, now)
    this.#networks = new FailureBuckets(RATE, now)
  }

  /** The number of buckets in memory. */
  get size(): number {
    return this.#emails.size + this.#networks.size
  }

  /**
   * Runs `verify`, and counts a failure if it resolves with null. Refuses with `throttled`, whether the password is right or
   * wrong, when the e-mail address or the network has no token left. Tokens are taken before: otherwise many tries at the
   * same time would all find one.
   */
  async guard<Found>(login: LoginTry, verify: () => Promise<Found | null>): Promise<Found | null> {
    const charges = this.#chargesOf(login)
    const retry_after_s = Math.max(...charges.map(([buckets, name]) => buckets.waitOf(name)))
    if (retry_after_s > 0) {
      const detail = `Too many wrong passwords. Expected available in ${retry_after_s} seconds.`
      throw new Refusal('throttled', detail, { retry_after_s })
    }
    for (const [buckets, name] of charges) buckets.charge(name)
    let is_wrong = false
    try {
      const found = await verify()
      is_wrong = found === null
      return found
    } finally {
      if (!is_wrong) for (const [buckets, name] of charges) buckets.refund(name)
    }
  }

  /**
   * The buckets of a try. Networks from which the user has logged in have buckets apart, so that guesses from elsewhere
   * cannot lock the user out. Callers on this machine are no network: all callers behind a local proxy would share it.
   */
  #chargesOf({ email, ip, session_ips }: LoginTry): readonly (readonly [FailureBuckets, string])[] {
    const address = email.toLowerCase()
    const network = senderNetwork(ip)
    const is_familiar = session_ips.some((one) => senderNetwork(one) === network)
    const by_email = [this.#emails, is_familiar ? `${address} ${network}` : address] as const
    return ip === '' || isLoopback(ip) ? [by_email] : [by_email, [this.#networks, network]]
  }
}
