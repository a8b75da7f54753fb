/**
 * A round of due alerts or subscriptions: those of one project one after the other, two projects at a time, and first
 * the project that has used least time. So slow queries and webhooks of a project delay its own, and those of another
 * project by one of them at most.
 */

/** Projects that are served at the same time: each occupies a slot for queries. */
const LANES = 2

type DueItem = { readonly id: number | string; readonly project_id: number }

type FairRoundContext<Item extends DueItem> = {
  /** Lists what is due, the first of each project before the second of any; a served item is not due any more. */
  readonly listDue: () => readonly Item[]
  readonly serve: (item: Item) => Promise<void>
  readonly isOpen: () => boolean
  readonly log: { readonly error: (fields: object, message: string) => void }
}

/** The time that projects have used since nothing was due. */
export class FairRounds<Item extends DueItem> {
  readonly #context: FairRoundContext<Item>
  readonly #used_ms = new Map<number, number>()

  constructor(context: FairRoundContext<Item>) {
    this.#context = context
  }

  /** Serves due items, at most `items_max` of them. An item that fails is served again in the next round. */
  async run(items_max: number): Promise<void> {
    const { listDue, serve, isOpen, log } = this.#context
    const busy = new Set<number>()
    const failed = new Set<DueItem['id']>()
    let left = items_max
    const next = (): Item | null => {
      const due = listDue().filter((item) => !busy.has(item.project_id) && !failed.has(item.id))
      return due.reduce<Item | null>((least, item) => this.#earlier(least, item), null)
    }
    const runLane = async (): Promise<void> => {
      while (isOpen() && left > 0) {
        const item = next()
        if (item === null) return
        left -= 1
        busy.add(item.project_id)
        const started_ms = performance.now()
        try {
          await serve(item)
        } catch (err) {
          failed.add(item.id)
          log.error({ err, id: item.id, project_id: item.project_id }, 'a due item failed')
        } finally {
          busy.delete(item.project_id)
          const used_ms = this.#usedBy(item) + performance.now() - started_ms
          this.#used_ms.set(item.project_id, used_ms)
        }
      }
    }
    // All of them: the next round, or a stop, would not know of a lane that still serves.
    const lanes = await Promise.allSettled(Array.from({ length: LANES }, runLane))
    for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason
    if (left > 0) this.#used_ms.clear()
  }

  #earlier(least: Item | null, item: Item): Item {
    return least === null || this.#usedBy(item) < this.#usedBy(least) ? item : least
  }

  #usedBy({ project_id }: Item): number {
    return this.#used_ms.get(project_id) ?? 0
  }
}
