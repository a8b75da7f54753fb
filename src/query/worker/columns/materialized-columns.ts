/** The demand on one project store: columns of person and group properties, and the event macros of queries. */
import { type NeededColumn, neededColumnName } from '../../../column-names.ts'
import type { EventMacro } from '../../../hogql/query-reads.ts'
import { ColumnDemand } from './column-demand.ts'

export type NeededColumns = {
  /** Columns of persons and groups; those of events are part of the macros. */
  readonly columns: readonly NeededColumn[]
  readonly events: readonly EventMacro[]
}

/** The demand at the beginning of a catch-up round, with the version of the lists. */
export type ColumnSet = NeededColumns & { readonly version: number; readonly request: number }

/** Columns kept for later queries; each makes every change of a person a little slower. */
const COLUMNS_KEPT_MAX = 256
/** Weight of macros kept for later queries; each is created again, with all columns, when files change. */
const MACROS_WEIGHT_MAX = 512
/** The weight of a macro without its columns. */
const MACRO_WEIGHT = 4

export class MaterializedColumns {
  readonly #columns = new ColumnDemand<NeededColumn>({
    nameOf: neededColumnName,
    weight_max: COLUMNS_KEPT_MAX,
  })
  readonly #macros = new ColumnDemand<EventMacro>({
    nameOf: ({ name }) => name,
    weightOf: ({ columns }) => MACRO_WEIGHT + columns.length,
    weight_max: MACROS_WEIGHT_MAX,
  })

  /** Registers the needs of one query; call the returned function at its end. */
  acquire({ columns, events }: NeededColumns): () => void {
    const releases = [this.#columns.acquire(columns), this.#macros.acquire(events)]
    return () => {
      for (const release of releases) release()
    }
  }

  /** The current demand. */
  current(): ColumnSet {
    return {
      columns: this.#columns.list(),
      events: this.#macros.list(),
      version: this.#columns.version + this.#macros.version,
      request: this.#macros.request,
    }
  }

  /** Removes columns that could not be created, unless `created` has them already. */
  drop({ columns, events, request }: ColumnSet, created: NeededColumns): void {
    this.#columns.drop(columns, created.columns, request)
    this.#macros.drop(events, created.events, request)
  }
}
