/** What one store offers its queries: columns for properties of persons and groups, and each query's relations of events. */
import { type NeededColumn, neededColumnName } from '../../storage/files/property-columns.ts'
import { ColumnDemand } from './column-demand.ts'
import type { EventRelation } from './event-macros.ts'

export type NeededColumns = {
  /** Of persons and groups; those of events are in the relations. */
  readonly columns: readonly NeededColumn[]
  readonly relations: readonly EventRelation[]
}

/** What was wanted when a round began, and which version of the lists that is. */
export type ColumnSet = NeededColumns & { readonly version: number; readonly naming: number }

/** Columns that stay for queries to come; each one more costs every change of a person a little. */
const COLUMNS_KEPT_MAX = 256
/** What stays of relations: each is made again when files change, with all of its columns. */
const RELATIONS_WEIGHT_MAX = 512
/** Of a relation beside its columns. */
const OWN_WEIGHT = 4

export class MaterializedColumns {
  readonly #columns = new ColumnDemand<NeededColumn>({
    nameOf: neededColumnName,
    weight_max: COLUMNS_KEPT_MAX,
  })
  readonly #relations = new ColumnDemand<EventRelation>({
    nameOf: ({ name }) => name,
    weightOf: ({ columns }) => OWN_WEIGHT + columns.length,
    weight_max: RELATIONS_WEIGHT_MAX,
  })

  /** Has these things offered from now on, until what comes back is called. */
  want({ columns, relations }: NeededColumns): () => void {
    const letGo = [this.#columns.want(columns), this.#relations.want(relations)]
    return () => {
      for (const release of letGo) release()
    }
  }

  now(): ColumnSet {
    return {
      columns: this.#columns.list(),
      relations: this.#relations.list(),
      version: this.#columns.version + this.#relations.version,
      naming: this.#relations.naming,
    }
  }

  /** Forgets what could not be offered, but for what was `held` before. */
  drop({ columns, relations, naming }: ColumnSet, held: NeededColumns): void {
    this.#columns.drop(columns, held.columns, naming)
    this.#relations.drop(relations, held.relations, naming)
  }
}
