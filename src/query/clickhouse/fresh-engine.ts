/** Asks ClickHouse once it has everything that the project's callers have been promised: they read their own writes. */

import { Refusal } from '../../errors.ts'
import type { QueryEngine } from '../engine/engine.ts'
import { refuseCancelled } from '../engine/engine-refusals.ts'
import type { WorkerAnswer, WorkerQuery } from '../engine/protocol.ts'

/** Resolves to false when ClickHouse still lacks something of the project after a while. */
type WaitForProject = (project_id: number) => Promise<boolean>

const RETRY_AFTER_S = 5

export class FreshEngine implements Pick<QueryEngine, 'run'> {
  readonly #engine: Pick<QueryEngine, 'run'>
  readonly #waitForProject: WaitForProject

  constructor(engine: Pick<QueryEngine, 'run'>, waitForProject: WaitForProject) {
    this.#engine = engine
    this.#waitForProject = waitForProject
  }

  /** Refuses with `storage_unavailable` when ClickHouse does not follow. */
  async run(query: WorkerQuery, options: Parameters<QueryEngine['run']>[1]): Promise<WorkerAnswer> {
    if (!(await this.#waitForProject(query.project_id)))
      throw new Refusal(
        'storage_unavailable',
        'ClickHouse does not have the newest events yet. Try again soon.',
        { retry_after_s: RETRY_AFTER_S },
      )
    if (options.signal?.aborted) throw refuseCancelled()
    return this.#engine.run(query, options)
  }
}
