/** Pieces of work that take turns on a thread. */

/** A kind of work that is done piece by piece; each piece takes a few milliseconds. */
type WorkSource = { readonly hasWork: () => boolean; readonly run: () => void }

/** Runs a piece of the source whose last one is longest ago. */
export class RoundRobin {
  readonly #sources: WorkSource[]

  constructor(sources: readonly WorkSource[]) {
    this.#sources = [...sources]
  }

  hasWork(): boolean {
    return this.#sources.some((source) => source.hasWork())
  }

  /** Runs one piece, if any source has one. */
  run(): void {
    const index = this.#sources.findIndex((source) => source.hasWork())
    const [source] = index === -1 ? [] : this.#sources.splice(index, 1)
    if (source === undefined) return
    this.#sources.push(source)
    source.run()
  }
}
