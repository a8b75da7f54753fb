/** A queue of several owners: first in, first out for each, round robin among them. */

/** Items that wait, by owner. The first owner is next. */
export class FairQueue<Owner, Item> {
  readonly #queues = new Map<Owner, Item[]>()

  get is_empty(): boolean {
    return this.#queues.size === 0
  }

  add(owner: Owner, item: Item): void {
    const queue = this.#queues.get(owner)
    if (queue === undefined) this.#queues.set(owner, [item])
    else queue.push(item)
  }

  /** The first item of each owner, in the order of their turns. */
  *heads(): Generator<readonly [owner: Owner, item: Item]> {
    for (const [owner, [item]] of this.#queues) if (item !== undefined) yield [owner, item]
  }

  /** Takes the first item of the next owner, or of the given one, whose turn is over then. */
  take(owner?: Owner): Item | null {
    for (const [name, queue] of this.#queues) {
      if (owner !== undefined && name !== owner) continue
      const item = queue.shift() ?? null
      this.#queues.delete(name)
      if (queue.length > 0) this.#queues.set(name, queue)
      return item
    }
    return null
  }
}
