/** What one store offers its questions: columns for properties of persons and groups, and each question's relations of events. */
import { type WantedColumn, wantedName } from '../storage/property-columns.ts'
import type { EventRelation } from './events-relation.ts'
import { Wants } from './wants.ts'

export type ThingsWanted = {
  /** Of persons and groups; those of events are in the relations. */
  readonly columns: readonly WantedColumn[]
  readonly relations: readonly EventRelation[]
}

/** What was wanted when a round began, and which version of the lists that is. */
export type Offer = ThingsWanted & { readonly version: number; readonly naming: number }

/** Columns that stay for questions to come; each one more costs every change of a person a little. */
const COLUMNS_KEPT_MAX = 256
/** What stays of relations: each is made anew when files change, with all of its columns. */
const RELATIONS_WEIGHT_MAX = 512
/** Of a relation beside its columns. */
const OWN_WEIGHT = 4

export class Offers {
  readonly #columns = new Wants<WantedColumn>({ nameOf: wantedName, weight_max: COLUMNS_KEPT_MAX })
  readonly #relations = new Wants<EventRelation>({
    nameOf: ({ name }) => name,
    weightOf: ({ columns }) => OWN_WEIGHT + columns.length,
    weight_max: RELATIONS_WEIGHT_MAX,
  })

  /** Has these things offered from now on, until what comes back is called. */
  want({ columns, relations }: ThingsWanted): () => void {
    const letGo = [this.#columns.want(columns), this.#relations.want(relations)]
    return () => {
      for (const release of letGo) release()
    }
  }

  now(): Offer {
    return {
      columns: this.#columns.list(),
      relations: this.#relations.list(),
      version: this.#columns.version + this.#relations.version,
      naming: this.#relations.naming,
    }
  }

  /** Forgets what could not be offered, but for what was `held` before. */
  drop({ columns, relations, naming }: Offer, held: ThingsWanted): void {
    this.#columns.drop(columns, held.columns, naming)
    this.#relations.drop(relations, held.relations, naming)
  }
}
