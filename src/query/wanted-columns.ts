/** Which property columns the relation of events offers: those that questions read now, and those they named lately. */
import { type WantedColumn, wantedName } from '../storage/property-columns.ts'

/** Columns that stay for questions to come; each one more costs every question a little. */
const KEPT_MAX = 256

type Named = {
  readonly column: WantedColumn
  /** Questions that read it or are about to. */
  users: number
}

export class WantedColumns {
  /** In the order in which they were named last. */
  readonly #named = new Map<string, Named>()
  #version = 0

  /** Changes whenever the list does. */
  get version(): number {
    return this.#version
  }

  /** Takes in what one question names; to be called when it is over, what comes back lets the columns go. */
  want(columns: readonly WantedColumn[]): () => void {
    const wanted = columns.map((column) => this.#name(column)).filter((named) => named !== null)
    for (const named of wanted) named.users += 1
    this.#forgetOldest()
    return () => {
      for (const named of wanted.splice(0)) named.users -= 1
      this.#forgetOldest()
    }
  }

  /** All that are offered. */
  list(): readonly WantedColumn[] {
    return [...this.#named.values()].map(({ column }) => column)
  }

  /** Forgets those that could not be offered, whoever wants them; what was `offered` before stays. */
  drop(tried: readonly WantedColumn[], offered: readonly WantedColumn[]): void {
    const good = new Set(offered.map(wantedName))
    for (const name of tried.map(wantedName)) {
      if (name === undefined || good.has(name) || !this.#named.delete(name)) continue
      this.#version += 1
    }
  }

  #name(column: WantedColumn): Named | null {
    const name = wantedName(column)
    if (name === undefined) return null
    const named = this.#named.get(name) ?? { column, users: 0 }
    if (!this.#named.delete(name)) this.#version += 1
    this.#named.set(name, named)
    return named
  }

  #forgetOldest(): void {
    for (const [name, { users }] of this.#named) {
      if (this.#named.size <= KEPT_MAX) break
      if (users > 0) continue
      this.#named.delete(name)
      this.#version += 1
    }
  }
}
