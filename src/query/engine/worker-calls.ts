/** Messages to workers that are answered later: the adoption of a manifest by all of them, the progress of one query. */
import type { FromQueryProcess, QueryProgressCounts } from './protocol.ts'
import type { QueryChild } from './worker-client.ts'

type Adoption = { readonly left: Set<QueryChild>; readonly resolve: () => void }
type ProgressRequest = {
  readonly child: QueryChild
  readonly resolve: (progress: QueryProgressCounts | null) => void
}

export class WorkerCalls {
  #last_id = 0
  readonly #adoptions = new Map<number, Adoption>()
  readonly #requests = new Map<number, ProgressRequest>()

  /** Resolves when each worker has adopted the newest manifest or has exited. */
  adopt(children: readonly QueryChild[]): Promise<void> {
    if (children.length === 0) return Promise.resolve()
    this.#last_id += 1
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#adoptions.set(this.#last_id, { left: new Set(children), resolve })
    for (const child of children) child.send({ kind: 'adopt', id: this.#last_id })
    return promise
  }

  /** Reads the progress of a running query; null when the worker cannot tell, or has exited. */
  readProgress(child: QueryChild, query_id: number): Promise<QueryProgressCounts | null> {
    this.#last_id += 1
    const { promise, resolve } = Promise.withResolvers<QueryProgressCounts | null>()
    this.#requests.set(this.#last_id, { child, resolve })
    child.send({ kind: 'probe', id: query_id, probe: this.#last_id })
    return promise
  }

  receive(
    child: QueryChild,
    head: Extract<FromQueryProcess, { readonly kind: 'adopted' | 'progress' }>,
  ): void {
    if (head.kind === 'adopted') return this.#takeAdoption(child, head.id)
    this.#requests.get(head.probe)?.resolve(head.progress)
    this.#requests.delete(head.probe)
  }

  /** Ends the calls of a worker that has exited. */
  forget(child: QueryChild): void {
    for (const id of this.#adoptions.keys()) this.#takeAdoption(child, id)
    for (const [id, request] of this.#requests) {
      if (request.child !== child) continue
      this.#requests.delete(id)
      request.resolve(null)
    }
  }

  #takeAdoption(child: QueryChild, id: number): void {
    const adoption = this.#adoptions.get(id)
    if (adoption?.left.delete(child) !== true || adoption.left.size > 0) return
    this.#adoptions.delete(id)
    adoption.resolve()
  }
}
