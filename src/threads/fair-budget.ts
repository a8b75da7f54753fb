/** A limit that several owners share, so that none of them uses up the shares of others. */

/**
 * The most that an owner may have, as a multiple of the free part. With 2 a single owner gets two thirds of the limit, two
 * owners get two fifths each, and a newcomer always finds something free.
 */
const SHARE_OF_FREE = 2

/** Dynamic thresholds (Choudhury and Hahne): the more is taken, the less an owner may have. */
export class FairBudget {
  readonly #max: number
  readonly #owned = new Map<string, number>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Whether this much is free. More than the limit is allowed while nothing is taken. */
  hasRoom(amount: number): boolean {
    return this.#taken === 0 || this.#taken + amount <= this.#max
  }

  /** Whether each of the owners may have this much more. */
  isFair(owners: readonly string[], amount: number): boolean {
    const allowed = SHARE_OF_FREE * (this.#max - this.#taken)
    return this.#taken === 0 || owners.every((owner) => this.#ownedBy(owner) + amount <= allowed)
  }

  take(owners: readonly string[], amount: number): void {
    this.#taken += amount
    for (const owner of owners) this.#owned.set(owner, this.#ownedBy(owner) + amount)
  }

  /** Gives back a taken amount. */
  release(owners: readonly string[], amount: number): void {
    this.#taken -= amount
    for (const owner of owners) {
      const left = this.#ownedBy(owner) - amount
      if (left > 0) this.#owned.set(owner, left)
      else this.#owned.delete(owner)
    }
  }

  #ownedBy(owner: string): number {
    return this.#owned.get(owner) ?? 0
  }
}
