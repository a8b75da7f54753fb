/** Facts about the parts of a statement, found once for each: it folds the events of actors, it reads tables. */

import { mapChildren, mapRelation, mapSelect } from '../passes/walk.ts'
import type { Cte, Relation, ResolvedExpr, ResolvedQuery } from '../sql/ir.ts'

type NodeFacts = {
  /** Calls a function that only the one-machine engine has, here or in a CTE that is read. */
  readonly folds: boolean
  /** Reads a table, here or in a CTE. */
  readonly scans: boolean
}

const FUNNEL_ENDINGS = ['', '_array', '_cohort', '_test']
const TREND_ENDINGS = ['_trends', '_array_trends', '_cohort_trends', '_array_trends_test']

/** The functions that are computed in TypeScript here, and not there. Adding a line moves a function to the query process. */
const FOLDS: ReadonlySet<string> = new Set([
  'extractIPv4Substrings',
  'funnel_entrances',
  'funnel_entrances_by_value',
  'funnel_steps',
  'funnel_steps_by_value',
  'languageCodeToName',
  'path_steps',
  'triples_of',
  ...[...FUNNEL_ENDINGS, ...TREND_ENDINGS].flatMap((ending) => [
    `aggregate_funnel${ending}`,
    `aggregate_funnel${ending}_json`,
  ]),
])

const NOTHING: NodeFacts = { folds: false, scans: false }

export class StatementFacts {
  readonly #ctes: ReadonlyMap<number, Cte>
  readonly #known = new WeakMap<object, NodeFacts>()

  constructor(ctes: readonly Cte[]) {
    this.#ctes = new Map(ctes.map((cte) => [cte.id, cte]))
  }

  ofExpr(expr: ResolvedExpr): NodeFacts {
    return this.#remember(expr, (add) => {
      if (expr.kind === 'apply' && FOLDS.has(expr.name)) add({ folds: true, scans: false })
      mapChildren(expr, this.#adding(add), this.#addingQuery(add))
    })
  }

  ofQuery(query: ResolvedQuery): NodeFacts {
    return this.#remember(query, (add) => {
      if (query.kind === 'select') {
        mapSelect(query, this.#adding(add), (relation) => {
          add(this.ofRelation(relation))
          return relation
        })
        return
      }
      for (const leg of [query.first, ...query.rest.map((rest) => rest.query)])
        add(this.ofQuery(leg))
    })
  }

  ofRelation(relation: Relation): NodeFacts {
    return this.#remember(relation, (add) => {
      if (relation.kind === 'scan') add({ folds: false, scans: true })
      if (relation.kind === 'derived') add(this.ofQuery(relation.query))
      if (relation.kind === 'cte_scan') add(this.#ofCte(relation.cte))
      mapRelation(relation, this.#adding(add), (inner) => {
        add(this.ofRelation(inner))
        return inner
      })
    })
  }

  #ofCte(id: number): NodeFacts {
    const cte = this.#ctes.get(id)
    return cte === undefined ? NOTHING : this.ofQuery(cte.query)
  }

  #adding(add: (facts: NodeFacts) => void): (expr: ResolvedExpr) => ResolvedExpr {
    return (expr) => {
      add(this.ofExpr(expr))
      return expr
    }
  }

  #addingQuery(add: (facts: NodeFacts) => void): (query: ResolvedQuery) => ResolvedQuery {
    return (query) => {
      add(this.ofQuery(query))
      return query
    }
  }

  #remember(node: object, collect: (add: (facts: NodeFacts) => void) => void): NodeFacts {
    const known = this.#known.get(node)
    if (known !== undefined) return known
    // A recursive CTE reads itself.
    this.#known.set(node, NOTHING)
    let facts = NOTHING
    collect(({ folds, scans }) => {
      facts = { folds: facts.folds || folds, scans: facts.scans || scans }
    })
    this.#known.set(node, facts)
    return facts
  }
}
