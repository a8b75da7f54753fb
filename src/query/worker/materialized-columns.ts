/** The demand on one project store: columns of person and group properties, and the event macros of queries. */
import { type NeededColumn, neededColumnName } from '../../storage/files/property-columns.ts'
import { ColumnDemand } from './column-demand.ts'
import type { EventRelation } from './event-macros.ts'

export type NeededColumns = {
  /** Columns of persons and groups; those of events are part of the relations. */
  readonly columns: readonly NeededColumn[]
  readonly relations: readonly EventRelation[]
}

/** The demand at the beginning of a catch-up round, with the version of the lists. */
export type ColumnSet = NeededColumns & { readonly version: number; readonly request: number }

/** Columns kept for later queries; each makes every change of a person a little slower. */
const COLUMNS_KEPT_MAX = 256
/** Weight of macros kept for later queries; each is created again, with all columns, when files change. */
const RELATIONS_WEIGHT_MAX = 512
/** The weight of a macro without its columns. */
const MACRO_WEIGHT = 4

export class MaterializedColumns {
  readonly #columns = new ColumnDemand<NeededColumn>({
    nameOf: neededColumnName,
    weight_max: COLUMNS_KEPT_MAX,
  })
  readonly #relations = new ColumnDemand<EventRelation>({
    nameOf: ({ name }) => name,
    weightOf: ({ columns }) => MACRO_WEIGHT + columns.length,
    weight_max: RELATIONS_WEIGHT_MAX,
  })

  /** Registers the needs of one query; call the returned function at its end. */
  acquire({ columns, relations }: NeededColumns): () => void {
    const releases = [this.#columns.acquire(columns), this.#relations.acquire(relations)]
    return () => {
      for (const release of releases) release()
    }
  }

  /** The current demand. */
  current(): ColumnSet {
    return {
      columns: this.#columns.list(),
      relations: this.#relations.list(),
      version: this.#columns.version + this.#relations.version,
      request: this.#relations.request,
    }
  }

  /** Removes what could not be created, except what `created` already has. */
  drop({ columns, relations, request }: ColumnSet, created: NeededColumns): void {
    this.#columns.drop(columns, created.columns, request)
    this.#relations.drop(relations, created.relations, request)
  }
}
