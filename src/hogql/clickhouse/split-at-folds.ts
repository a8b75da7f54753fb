/**
 * Splits a statement at its folds. ClickHouse gathers the rows that a fold reads; the query process folds them, and computes
 * everything above.
 *
 *   SELECT funnel_steps(actor_timeline(…), spec) FROM events WHERE … GROUP BY person_id
 *   → gather: SELECT actor_timeline(…) AS c1 FROM events WHERE … GROUP BY person_id
 *     local:  SELECT funnel_steps(c1, spec) FROM the file of the gathered rows
 *
 * A select is split where it folds; below that a sub-query that reads tables is gathered whole, and so is a table that is
 * joined with folded rows: conditions on that table alone are pushed into its statement.
 *
 * In names and comments of this file, *there* is in ClickHouse, and *here* is in the query process.
 */

import type { SplitStatement } from '../dialect.ts'
import {
  conjuncts,
  keepExpr,
  keepRelation,
  mapChildren,
  mapRelation,
  mapSelect,
  mapStatement,
  operandsOf,
  someExpr,
} from '../passes/walk.ts'
import { groupKeyIdentity } from '../resolve/grouping.ts'
import {
  type Cte,
  type DerivedTable,
  type JoinKind,
  NO_LIMITS,
  queryColumns,
  type Relation,
  type ResolvedExpr,
  type ResolvedQuery,
  type ResolvedSelect,
  relationIds,
  type Scan,
  type Statement,
  selectFrom,
} from '../sql/ir.ts'
import { conjunction, sql } from '../sql/sql-fragments.ts'
import { fitsFile, fromFile, GatheredColumns, isSentAsText, toFile } from './gathered-columns.ts'
import { refuseInClickHouse } from './refuse-in-clickhouse.ts'
import { StatementFacts } from './statement-facts.ts'

/** Splits a statement; null where nothing is folded. */
export function splitAtFolds(statement: Statement): SplitStatement | null {
  return new FoldSplitter(statement).split()
}

/** Ids of relations and columns that are made here; those of the resolver and of passes are smaller. */
const FIRST_ID = 2_000_000

/** Joins below which conditions may be pushed into both inputs, and joins that allow it for the left one only. */
const PUSH_TO_BOTH: ReadonlySet<JoinKind> = new Set(['CROSS', 'INNER'])
const PUSH_TO_LEFT: ReadonlySet<JoinKind> = new Set(['ANTI', 'ASOF', 'ASOF LEFT', 'LEFT', 'SEMI'])

class FoldSplitter {
  readonly #statement: Statement
  readonly #facts: StatementFacts
  readonly #gather_statements: Statement[] = []
  /** Tables that are joined with folded rows: their columns in a file, by relation. */
  readonly #tables = new Map<number, GatheredColumns>()
  #last_id = FIRST_ID

  constructor(statement: Statement) {
    this.#statement = statement
    this.#facts = new StatementFacts(statement.ctes)
  }

  split(): SplitStatement | null {
    const { ctes, query } = this.#statement
    const all = [query, ...ctes.map((cte) => cte.query)]
    if (!all.some((one) => this.#facts.ofQuery(one).folds)) return null
    const local_query = this.#splitQuery(query)
    const local_ctes = new Map<number, Cte>()
    this.#splitCtesOf(local_query, local_ctes)
    const read = ctes.flatMap(({ id }) => local_ctes.get(id) ?? [])
    return {
      gather_statements: this.#gather_statements,
      local_statement: withItemNumbers({ ctes: read, query: local_query }),
    }
  }

  /** Splits the CTEs that a part reads, directly or through other CTEs. */
  #splitCtesOf(part: ResolvedQuery, done: Map<number, Cte>): void {
    const read = ctesIn(part)
    for (const cte of this.#statement.ctes) {
      if (!read.has(cte.id) || done.has(cte.id)) continue
      const query = this.#splitQuery(cte.query)
      done.set(cte.id, { ...cte, query })
      this.#splitCtesOf(query, done)
    }
  }

  #splitQuery(query: ResolvedQuery): ResolvedQuery {
    const { folds, scans } = this.#facts.ofQuery(query)
    if (!folds) return scans ? this.#gather(query) : query
    if (query.kind === 'select') return this.#splitSelect(query)
    const rest = query.rest.map((leg) => ({ ...leg, query: this.#splitQuery(leg.query) }))
    return { ...query, first: this.#splitQuery(query.first), rest }
  }

  #splitSelect(select: ResolvedSelect): ResolvedSelect {
    // Without FROM there is nothing to gather.
    if (select.from === null) return this.#splitOverFolds(select)
    const { folds, scans } = this.#facts.ofRelation(select.from)
    if (folds || !scans) return this.#splitOverFolds(select)
    return this.#splitGroups(select) ?? this.#splitRows(select)
  }

  // ── a select whose rows are gathered ───────────────────────────────────────────────────────

  /** Groups there and folds here; null where the groups themselves need a fold. */
  #splitGroups(select: ResolvedSelect): ResolvedSelect | null {
    const { group_by, having } = select
    const keys = group_by?.sets.flat() ?? []
    const [there, here] = this.#splitConditions(select.where)
    const names = new Set(keys.map(groupKeyIdentity))
    // A condition that reads keys alone excludes whole groups, so it can be checked after grouping.
    const can_filter_groups = here.every((condition) => readsOnly(condition, names))
    if (!can_filter_groups || !isGrouped(select) || this.#groupsNeedFold(select)) return null
    const columns = new GatheredColumns(this.#nextId(), () => this.#nextId(), true)
    const having_folds = having !== null && this.#hasFold(having)
    const above = having_folds ? [...here, having] : here
    const outer = this.#clausesAbove(select, columns)
    const where = conjunction(above.map((expr) => this.#readColumns(expr, columns)))
    const inner: ResolvedSelect = {
      ...selectFrom(columns.outputs(), select.from),
      ...NO_LIMITS,
      where: conjunction(there),
      group_by,
      having: having_folds ? null : having,
    }
    return { ...outer, where, from: this.#gatherAs(columns.relation, inner) }
  }

  /** Whether keys or aggregates of a select contain a fold. */
  #groupsNeedFold(select: ResolvedSelect): boolean {
    const keys = select.group_by?.sets.flat() ?? []
    const aggregates = exprsAbove(select).flatMap(aggregatesIn)
    return [...keys, ...aggregates].some((expr) => this.#hasFold(expr))
  }

  /** Gathers rows there; groups and folds here. */
  #splitRows(select: ResolvedSelect): ResolvedSelect {
    const { group_by, having } = select
    const [there, here] = this.#splitConditions(select.where)
    const columns = new GatheredColumns(this.#nextId(), () => this.#nextId())
    const read = (expr: ResolvedExpr): ResolvedExpr => this.#readColumns(expr, columns)
    const outer = {
      ...this.#clausesAbove(select, columns),
      where: conjunction(here.map(read)),
      group_by:
        group_by === null ? null : { ...group_by, sets: group_by.sets.map((set) => set.map(read)) },
      having: having === null ? null : read(having),
    }
    const inner = { ...selectFrom(columns.outputs(), select.from), where: conjunction(there) }
    return { ...outer, from: this.#gatherAs(columns.relation, inner) }
  }

  /** The columns, orders and limits of a select, with their parts read from the file. */
  #clausesAbove(select: ResolvedSelect, columns: GatheredColumns): ResolvedSelect {
    const above = {
      ...select,
      from: null,
      where: null,
      time_bounds: [],
      group_by: null,
      having: null,
    }
    return mapSelect(above, (expr) => this.#readColumns(expr, columns), keepRelation)
  }

  /** Splits conditions: ClickHouse checks the first list; the second has folds, which the query process computes. */
  #splitConditions(
    where: ResolvedExpr | null,
  ): readonly [there: ResolvedExpr[], here: ResolvedExpr[]] {
    const all = where === null ? [] : conjuncts(where)
    const here = all.filter((condition) => this.#hasFold(condition))
    return [all.filter((condition) => !here.includes(condition)), here]
  }

  #hasFold(expr: ResolvedExpr): boolean {
    return this.#facts.ofExpr(expr).folds
  }

  /** An expression of a split select: its largest sub-expressions without a fold become columns of the file. */
  #readColumns(expr: ResolvedExpr, columns: GatheredColumns): ResolvedExpr {
    const is_column =
      !this.#hasFold(expr) && canBeColumn(expr) && (columns.takes_aggregates || !hasAggregate(expr))
    if (is_column) return columns.read(expr)
    const inner = (child: ResolvedExpr): ResolvedExpr => this.#readColumns(child, columns)
    const inQuery = (query: ResolvedQuery): ResolvedQuery => this.#splitQuery(query)
    return mapChildren(
      expr,
      // The call of a window is computed over all rows here.
      (child) =>
        expr.kind === 'window' && child === expr.call
          ? mapChildren(child, inner, inQuery)
          : inner(child),
      inQuery,
    )
  }

  // ── a select over folded rows ──────────────────────────────────────────────────────────────

  /**
   * Three steps in this order: the tables below the joins are noted, the expressions add the columns that they read of them,
   * and each table becomes a file with these columns.
   */
  #splitOverFolds(select: ResolvedSelect): ResolvedSelect {
    const { from } = select
    if (from === null) return mapSelect(select, (expr) => this.#readTables(expr), keepRelation)
    const relation = this.#splitRelation(from)
    const conditions = select.where === null ? [] : conjuncts(select.where)
    const targets = pushdownTargets(from)
    const pushed = new Map<number, ResolvedExpr[]>()
    const here = conditions.filter((condition) => {
      const table = this.#hasFold(condition) ? null : onlyRelation(condition)
      if (table === null || !targets.has(table)) return true
      pushed.set(table, [...(pushed.get(table) ?? []), condition])
      return false
    })
    const rest = mapSelect(
      { ...select, from: null, time_bounds: [], where: conjunction(here) },
      (expr) => this.#readTables(expr),
      keepRelation,
    )
    return { ...rest, from: this.#withFiles(relation, pushed) }
  }

  /** A relation with its sub-selects split; its tables are in `#tables` from here on. */
  #splitRelation(relation: Relation): Relation {
    if (relation.kind === 'derived')
      return { kind: 'derived', id: relation.id, query: this.#splitQuery(relation.query) }
    if (relation.kind === 'scan')
      this.#tables.set(relation.id, new GatheredColumns(relation.id, () => this.#nextId()))
    return mapRelation(
      relation,
      (expr) => this.#readTables(expr),
      (inner) => this.#splitRelation(inner),
    )
  }

  /** An expression over folded rows: columns and members of tables are read from their files. */
  #readTables(expr: ResolvedExpr): ResolvedExpr {
    const stored = expr.kind === 'property' ? expr.of : expr
    if (stored.kind === 'column') {
      const table = this.#tables.get(stored.relation)
      if (table !== undefined) return table.read(expr)
    }
    return mapChildren(
      expr,
      (child) => this.#readTables(child),
      (query) => this.#splitQuery(query),
    )
  }

  /** The relation with a file in the place of each table. */
  #withFiles(relation: Relation, pushed: ReadonlyMap<number, readonly ResolvedExpr[]>): Relation {
    if (relation.kind === 'scan') {
      const columns = this.#tables.get(relation.id)
      if (columns === undefined) throw new Error('a table is met when its select is split')
      const where = conjunction(pushed.get(relation.id) ?? [])
      return this.#gatherAs(relation.id, { ...selectFrom(columns.outputs(), relation), where })
    }
    return mapRelation(relation, keepExpr, (inner) => this.#withFiles(inner, pushed))
  }

  // ── files ──────────────────────────────────────────────────────────────────────────────────

  #gatherAs(id: number, query: ResolvedQuery): DerivedTable {
    return { kind: 'derived', id, query: this.#gather(query) }
  }

  /** Adds a statement for ClickHouse; gives the select that reads its rows. */
  #gather(query: ResolvedQuery): ResolvedSelect {
    if (isCorrelated(query))
      refuseInClickHouse('A sub-query that reads rows around it, next to a fold,')
    const outputs = queryColumns(query)
    const file = this.#gather_statements.length
    this.#gather_statements.push({ ctes: this.#ctesOf(query), query: this.#withFileForms(query) })
    const id = this.#nextId()
    const columns = outputs.map((column) => ({
      id: column.id,
      expr: fromFile(id, column.id, column.type),
    }))
    return selectFrom(columns, { kind: 'gathered', id, file })
  }

  /** The query with its columns in the forms of the file. */
  #withFileForms(query: ResolvedQuery): ResolvedQuery {
    const outputs = queryColumns(query)
    if (!outputs.some(({ type }) => type.kind === 'null' || isSentAsText(type))) return query
    const relation = this.#nextId()
    const columns = outputs.map(({ id, type }) => ({
      id,
      expr: toFile({ kind: 'column', relation, name: `c${id}`, type }),
    }))
    return selectFrom(columns, { kind: 'derived', id: relation, query })
  }

  /** The CTEs that a query reads, directly or through other CTEs, in their order. */
  #ctesOf(query: ResolvedQuery): readonly Cte[] {
    const read = new Set<number>()
    const add = (part: ResolvedQuery): void => {
      for (const id of ctesIn(part)) {
        const cte = this.#statement.ctes.find((one) => one.id === id)
        if (cte === undefined || read.has(id)) continue
        read.add(id)
        add(cte.query)
      }
    }
    add(query)
    return this.#statement.ctes.filter(({ id }) => read.has(id))
  }

  #nextId(): number {
    this.#last_id += 1
    return this.#last_id
  }
}

/** The relation of the columns that a set operation returns. */
const SET_RESULT = 0

/** Whether a query reads columns of relations around it. Such a query cannot be gathered on its own. */
function isCorrelated(query: ResolvedQuery): boolean {
  const read = new Set<number>()
  const own = new Set([SET_RESULT])
  mapStatement(
    { ctes: [], query },
    {
      expr: (expr) => {
        if (expr.kind === 'column') read.add(expr.relation)
        return expr
      },
      select: (select) => {
        for (const id of select.from === null ? [] : relationIds(select.from)) own.add(id)
        return select
      },
    },
  )
  return !read.isSubsetOf(own)
}

const hasAggregate = (expr: ResolvedExpr): boolean =>
  someExpr(expr, (one) => one.kind === 'apply' && one.aggregate !== null)

/** The aggregate calls of an expression, outside of windows. */
function aggregatesIn(expr: ResolvedExpr): readonly ResolvedExpr[] {
  if (expr.kind === 'apply' && expr.aggregate !== null) return [expr]
  return operandsOf(expr)
    .filter((child) => expr.kind !== 'window' || child !== expr.call)
    .flatMap(aggregatesIn)
}

const isGrouped = (select: ResolvedSelect): boolean =>
  select.group_by !== null || exprsAbove(select).some((expr) => aggregatesIn(expr).length > 0)

/** The expressions that are computed of groups. */
function exprsAbove({ columns, having, qualify, order_by }: ResolvedSelect): ResolvedExpr[] {
  return [
    ...columns.map(({ expr }) => expr),
    ...order_by.map(({ expr }) => expr),
    ...[having, qualify].filter((expr) => expr !== null),
  ]
}

/** Whether all that an expression takes from rows is among the keys. */
function readsOnly(expr: ResolvedExpr, keys: ReadonlySet<string>): boolean {
  if (keys.has(groupKeyIdentity(expr))) return true
  return expr.kind !== 'column' && operandsOf(expr).every((child) => readsOnly(child, keys))
}

/** Whether an expression can be a column of a file: it has a value for each row, of a type that a file has. */
function canBeColumn(expr: ResolvedExpr): boolean {
  const { kind } = expr
  if (kind === 'lambda' || kind === 'subquery' || !fitsFile(expr.type)) return false
  if (!someExpr(expr, readsRows) || someExpr(expr, (one) => one.kind === 'window')) return false
  return !hasFreeParameter(expr, new Set())
}

const readsRows = (expr: ResolvedExpr): boolean =>
  expr.kind === 'column' ||
  expr.kind === 'subquery' ||
  (expr.kind === 'apply' && expr.aggregate !== null)

/** Whether an expression reads a parameter of a lambda around it. `bound` has the parameters of lambdas in it. */
function hasFreeParameter(expr: ResolvedExpr, bound: ReadonlySet<number>): boolean {
  if (expr.kind === 'local') return !bound.has(expr.id)
  const inside =
    expr.kind === 'lambda' ? bound.union(new Set(expr.locals.map(({ id }) => id))) : bound
  return operandsOf(expr).some((child) => hasFreeParameter(child, inside))
}

/** The tables into whose statements conditions of a select's WHERE may be pushed. */
function pushdownTargets(relation: Relation): ReadonlySet<number> {
  if (relation.kind === 'scan') return new Set([relation.id])
  if (relation.kind !== 'join') return new Set()
  const left = pushdownTargets(relation.left)
  if (PUSH_TO_BOTH.has(relation.join)) return left.union(pushdownTargets(relation.right))
  return PUSH_TO_LEFT.has(relation.join) ? left : new Set()
}

/** The one relation that an expression reads; null for none or several. */
function onlyRelation(expr: ResolvedExpr): Scan['id'] | null {
  const relations = new Set<number>()
  const has_query = someExpr(expr, (one) => {
    if (one.kind === 'column') relations.add(one.relation)
    return one.kind === 'subquery'
  })
  const [first = null] = relations
  return has_query || relations.size !== 1 ? null : first
}

/** The ids of the CTEs that a query reads. */
function ctesIn(query: ResolvedQuery): ReadonlySet<number> {
  const ids = new Set<number>()
  const add = (relation: Relation): void => {
    if (relation.kind === 'cte_scan') ids.add(relation.cte)
    if (relation.kind !== 'join') return
    add(relation.left)
    add(relation.right)
  }
  mapStatement(
    { ctes: [], query },
    {
      select: (select) => {
        if (select.from !== null) add(select.from)
        return select
      },
    },
  )
  return ids
}

/** An item's number has to be the same on both sides of the split: `calls.ts` prints the same digest. */
function withItemNumbers(statement: Statement): Statement {
  return mapStatement(statement, {
    expr: (expr) => {
      const [text] = expr.kind === 'apply' && expr.name === 'path_item' ? expr.args : []
      return text === undefined
        ? expr
        : sql`greatest((md5_number_lower(coalesce(${text}, '')) >> 13::UBIGINT)::BIGINT, 1)`(
            expr.type,
          )
    },
  })
}
