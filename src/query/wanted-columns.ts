/** Which property columns the relation of events offers: those that questions have named lately. */
import { type WantedColumn, wantedName } from '../storage/property-columns.ts'

/** Columns that stay for questions to come; each one more costs every question a little. */
const KEPT_MAX = 256
/** A column named within so many questions stays in any case: they may not have begun to read. */
const RECENT = 64

export class WantedColumns {
  /** In the order in which they were named last. */
  readonly #named = new Map<string, { readonly column: WantedColumn; readonly turn: number }>()
  #turn = 0
  #version = 0

  /** Changes whenever the list does. */
  get version(): number {
    return this.#version
  }

  /** Takes in what one question names. */
  want(columns: readonly WantedColumn[]): void {
    this.#turn += 1
    for (const column of columns) {
      const name = wantedName(column)
      if (name === undefined) continue
      if (!this.#named.delete(name)) this.#version += 1
      this.#named.set(name, { column, turn: this.#turn })
    }
    for (const [name, { turn }] of this.#named) {
      if (this.#named.size <= KEPT_MAX || this.#turn - turn < RECENT) break
      this.#named.delete(name)
      this.#version += 1
    }
  }

  /** All that are offered. */
  list(): readonly WantedColumn[] {
    return [...this.#named.values()].map(({ column }) => column)
  }
}
