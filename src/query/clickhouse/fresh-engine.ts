/** Asks ClickHouse once it has everything that the project's callers have been promised: they read their own writes. */

import { Refusal } from '../../errors.ts'
import type { QueryEngine } from '../engine/engine.ts'
import { refuseCancelled } from '../engine/engine-refusals.ts'
import type { WorkerAnswer, WorkerQuery } from '../engine/protocol.ts'

/** Resolves to false when ClickHouse still lacks something of the project after a while. */
type WaitForProject = (project_id: number) => Promise<boolean>

const RETRY_AFTER_S = 5

export class FreshEngine implements Pick<QueryEngine, 'ask'> {
  readonly #engine: Pick<QueryEngine, 'ask'>
  readonly #waitForProject: WaitForProject

  constructor(engine: Pick<QueryEngine, 'ask'>, waitForProject: WaitForProject) {
    this.#engine = engine
    this.#waitForProject = waitForProject
  }

  /** Refuses with `storage_unavailable` when ClickHouse does not follow. */
  async ask(query: WorkerQuery, options: Parameters<QueryEngine['ask']>[1]): Promise<WorkerAnswer> {
    if (!(await this.#waitForProject(query.project_id)))
      throw new Refusal(
        'storage_unavailable',
        'ClickHouse does not have the newest events yet. Try again soon.',
        { retry_after_s: RETRY_AFTER_S },
      )
    if (options.signal?.aborted) throw refuseCancelled()
    return this.#engine.ask(query, options)
  }
}
