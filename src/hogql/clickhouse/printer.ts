/**
 * Prints a resolved statement as ClickHouse SQL. Like the printer for DuckDB it writes only static text and generated
 * names; texts are bound, numbers and times printed from parsed values.
 */

import { printGroupBy } from '../sql/group-by.ts'
import {
  type Apply,
  type ColumnExpr,
  type Cte,
  type Fragment,
  type FrameBound,
  type Join,
  type JoinKind,
  type LimitBy,
  type OrderBy,
  type Over,
  type Property,
  type Relation,
  type ResolvedExpr,
  type ResolvedQuery,
  type ResolvedSelect,
  relationIds,
  type Scan,
  type SelectLimits,
  type SetOperation,
  type SetQuery,
  type Statement,
  type Subquery,
  type Window,
} from '../sql/ir.ts'
import type { PrintedQuery } from '../sql/print.ts'
import { constantInt } from '../sql/sql-fragments.ts'
import { type ExprPrinter, printCall } from './calls.ts'
import { refuseInClickHouse } from './refuse-in-clickhouse.ts'
import { StatementReads } from './scan-reads.ts'
import type { TableState } from './table-state.ts'
import { ClickHouseTables } from './tables.ts'
import { ClickHouseValues } from './values.ts'

/** Prints one SELECT and the values of its parameters `{p1:String}`, `{p2:Int64}`, … */
export function printClickHouse(statement: Statement, state: TableState): PrintedQuery {
  const values = new ClickHouseValues()
  const sql = new ClickHousePrinter(statement, state, values).statement(statement)
  const { values: bound, relative_values } = values.parameters
  return { sql, values: bound, relative_values }
}

/** The joins; null for those that ClickHouse lacks. */
const JOINS: Readonly<Record<JoinKind, string | null>> = {
  ANTI: 'LEFT ANTI JOIN',
  ASOF: 'ASOF JOIN',
  'ASOF LEFT': 'ASOF LEFT JOIN',
  CROSS: 'CROSS JOIN',
  FULL: 'FULL JOIN',
  INNER: 'INNER JOIN',
  LEFT: 'LEFT JOIN',
  POSITIONAL: null,
  RIGHT: 'RIGHT JOIN',
  SEMI: 'LEFT SEMI JOIN',
}

/** Joins that give rows of the right side alone: a condition on the left side in WHERE would drop them. */
const KEEPS_RIGHT: ReadonlySet<JoinKind> = new Set(['FULL', 'POSITIONAL', 'RIGHT'])

const OPERATIONS: Readonly<Record<SetOperation, string>> = {
  EXCEPT: 'EXCEPT DISTINCT',
  'EXCEPT ALL': 'EXCEPT ALL',
  INTERSECT: 'INTERSECT DISTINCT',
  'INTERSECT ALL': 'INTERSECT ALL',
  UNION: 'UNION DISTINCT',
  'UNION ALL': 'UNION ALL',
}

/** Prints the parts of one statement; `calls.ts` prints functions with it. */
class ClickHousePrinter implements ExprPrinter {
  readonly values: ClickHouseValues
  readonly #reads: StatementReads
  readonly #tables: ClickHouseTables
  /** Events scans that are the first relation of their select, so that their columns have no sub-select around them. */
  readonly #first_events = new Set<number>()
  /** Relations of arrays side by side: their columns are named after the relation. */
  readonly #arrays = new Set<number>()
  /** Relations whose whole properties are a key of the select that is printed: members are read out of them. */
  #keyed_properties: ReadonlySet<number> = new Set()
  /** Relations inside of a sub-select around a join, by its name. */
  readonly #wrapped = new Map<number, string>()

  constructor(statement: Statement, state: TableState, values: ClickHouseValues) {
    this.values = values
    this.#reads = new StatementReads(statement)
    this.#tables = new ClickHouseTables(state, values)
  }

  statement({ ctes, query }: Statement): string {
    if (ctes.length === 0) return this.query(query)
    const recursive = ctes.some((cte) => cte.recursive !== null) ? 'RECURSIVE ' : ''
    return `WITH ${recursive}${ctes.map((cte) => this.#cte(cte)).join(', ')} ${this.query(query)}`
  }

  #cte({ id, query, recursive }: Cte): string {
    // The legs of a recursive one must be seen: nothing is selected from around them.
    const body =
      recursive !== null && query.kind === 'set'
        ? this.#legs({ ...query, first: withColumnIds(query.first, recursive) })
        : this.query(query)
    return `q${id} AS (${body})`
  }

  query(query: ResolvedQuery): string {
    return query.kind === 'select' ? this.#select(query) : this.#set(query)
  }

  #set(query: SetQuery): string {
    const names = query.columns.map(({ id }) => `c${id}`).join(', ')
    return `SELECT ${names} FROM (${this.#legs(query)})${this.#limits(query)}`
  }

  #legs({ first, rest }: SetQuery): string {
    const legs = rest.map((leg) => ` ${OPERATIONS[leg.operator]} (${this.query(leg.query)})`)
    return `(${this.query(first)})${legs.join('')}`
  }

  #select(select: ResolvedSelect): string {
    const { from, where, group_by, having, qualify, limit_by } = select
    const conditions: string[] = []
    const relation = from === null ? '' : ` FROM ${this.#from(from, conditions)}`
    if (where !== null) conditions.push(this.expr(where))
    const outer_keyed = this.#keyed_properties
    this.#keyed_properties = outer_keyed.union(keyedProperties(group_by))
    const columns = select.columns.map(({ id, expr }) => `${this.expr(expr)} AS c${id}`)
    const text = [
      `SELECT ${select.distinct ? 'DISTINCT ' : ''}${columns.join(', ')}`,
      relation,
      conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`,
      group_by === null ? '' : ` GROUP BY ${printGroupBy(group_by, (keys) => this.list(keys))}`,
      having === null ? '' : ` HAVING ${this.expr(having)}`,
      qualify === null ? '' : ` QUALIFY ${this.expr(qualify)}`,
      this.#limits(select, limit_by),
    ].join('')
    this.#keyed_properties = outer_keyed
    return text
  }

  #limits(limits: SelectLimits, limit_by: LimitBy | null = null): string {
    // The server loses the columns of the order.
    if (limit_by !== null && limits.with_ties)
      refuseInClickHouse('LIMIT BY together with WITH TIES')
    const { order_by, limit, offset, limit_percent, with_ties } = limits
    return [
      order_by.length === 0 ? '' : ` ORDER BY ${this.#orders(order_by)}`,
      limit_by === null ? '' : this.#limitBy(limit_by),
      limit === null ? '' : ` LIMIT ${limit_percent ? shareOf(limit) : this.expr(limit)}`,
      offset === null ? '' : ` OFFSET ${this.expr(offset)}`,
      with_ties && limit !== null ? ' WITH TIES' : '',
    ].join('')
  }

  #limitBy({ count, offset, keys }: LimitBy): string {
    const skipped = offset === null ? '' : ` OFFSET ${this.expr(offset)}`
    return ` LIMIT ${this.expr(count)}${skipped} BY ${this.list(keys)}`
  }

  #orders(order_by: readonly OrderBy[], in_micros = false): string {
    return order_by
      .map(({ expr, descending, nulls }) => {
        const text = this.expr(expr)
        // The order of the type UUID is that of its halves turned round.
        const ordered = expr.type.kind === 'uuid' ? `toString(${text})` : text
        const key = in_micros ? `toUnixTimestamp64Micro(toDateTime64(${text}, 6))` : ordered
        return `${key}${descending ? ' DESC' : ''}${nulls === null ? '' : ` NULLS ${nulls}`}`
      })
      .join(', ')
  }

  // ── relations ──────────────────────────────────────────────────────────────────────────────

  /** A select's FROM. Events that come first are read by each shard for itself; their project goes into WHERE. */
  #from(relation: Relation, conditions: string[]): string {
    if (relation.kind === 'join') return this.#join(relation, conditions)
    if (relation.kind === 'unnest') return `system.one ${this.#arrayJoin(relation, false)}`
    if (relation.kind !== 'scan' || relation.table !== 'events') return this.#relation(relation)
    this.#first_events.add(relation.id)
    const { from, where } = this.#tables.firstEvents(relation, this.#reads.of(relation.id))
    conditions.push(where)
    return from
  }

  #relation(relation: Relation): string {
    switch (relation.kind) {
      case 'scan':
        return this.#scan(relation)
      case 'derived':
        return `(${this.query(relation.query)}) AS t${relation.id}`
      case 'cte_scan':
        return `q${relation.cte} AS t${relation.id}`
      case 'gathered':
        throw new Error('files are read by DuckDB')
      case 'series':
        return `(${this.#series(relation.args)}) AS t${relation.id}`
      case 'rows':
        return `(${relation.rows.map((row) => this.#row(row)).join(' UNION ALL ')}) AS t${relation.id}`
      case 'unnest':
        return `(SELECT ${relation.lists.map((list, index) => `arrayJoin(${this.expr(list)}) AS c${index + 1}`).join(', ')}) AS t${relation.id}`
      case 'join':
        return this.#wrap(relation)
    }
  }

  #scan(scan: Scan): string {
    return `${this.#tables.subSelect(scan, this.#reads.of(scan.id))} AS t${scan.id}`
  }

  #row(row: readonly ResolvedExpr[]): string {
    return `SELECT ${row.map((cell, index) => `${this.expr(cell)} AS c${index + 1}`).join(', ')}`
  }

  /** `first`, increased by `step` until `stop`, exclusive. */
  #series([first, stop, step]: readonly [ResolvedExpr, ResolvedExpr, ResolvedExpr]): string {
    const [from, until, by] = [first, stop, step].map(constantInt)
    if (typeof from !== 'bigint' || typeof until !== 'bigint' || by !== 1n || from < 0n)
      return `SELECT arrayJoin(range(${this.list([first, stop, step])})) AS c1`
    return `SELECT number AS c1 FROM numbers(${from}, ${until > from ? until - from : 0n})`
  }

  #join(join: Join, conditions: string[]): string {
    const { left, right, on } = join
    const first = KEEPS_RIGHT.has(join.join) ? this.#relation(left) : this.#from(left, conditions)
    if (right.kind === 'unnest') return `${first} ${this.#arrayJoin(right, join.join === 'LEFT')}`
    const kind = JOINS[join.join] ?? refuseInClickHouse(`${join.join} JOIN`)
    const other = this.#relation(right)
    return `${first} ${kind} ${other}${on === null ? '' : ` ON ${this.expr(on)}`}`
  }

  /** The arrays of a relation, side by side, as columns named after it: `ARRAY JOIN [1, 2] AS t4_c1`. */
  #arrayJoin({ id, lists }: Extract<Relation, { kind: 'unnest' }>, is_left: boolean): string {
    const printed = lists.map((list, index) => `${this.expr(list)} AS t${id}_c${index + 1}`)
    this.#arrays.add(id)
    return `${is_left ? 'LEFT ' : ''}ARRAY JOIN ${printed.join(', ')}`
  }

  /** A join on the right of another: a sub-select that names all columns that are read of its relations. */
  #wrap(join: Join): string {
    const conditions: string[] = []
    const from = this.#join(join, conditions)
    const name = `w${relationIds(join)[0] ?? 0}`
    const columns = relationIds(join).flatMap((id) => this.#wrappedColumns(id))
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
    for (const id of relationIds(join)) this.#wrapped.set(id, name)
    return `(SELECT ${columns.length === 0 ? '1' : columns.join(', ')} FROM ${from}${where}) AS ${name}`
  }

  #wrappedColumns(id: number): readonly string[] {
    const { columns, members, whole_reads } = this.#reads.of(id)
    const names = [...columns, ...(whole_reads > 0 ? ['properties' as const] : [])]
    return [
      ...names.map((name) => `${this.#columnOf(id, name)} AS t${id}_${name}`),
      ...[...members].map(([path, name]) => `${this.#memberOf(id, path, name)} AS t${id}_${name}`),
    ]
  }

  // ── expressions ────────────────────────────────────────────────────────────────────────────

  list(exprs: readonly ResolvedExpr[]): string {
    return exprs.map((expr) => this.expr(expr)).join(', ')
  }

  expr(expr: ResolvedExpr): string {
    switch (expr.kind) {
      case 'value':
        return this.values.value(expr)
      case 'column':
        return this.#column(expr)
      case 'local':
        return expr.id < 0 ? `y${-expr.id}` : `x${expr.id}`
      case 'apply':
        return printCall(expr, this)
      case 'lambda':
        return `(${this.list(expr.locals)}) -> ${this.expr(expr.body)}`
      case 'property':
        return this.#property(expr)
      case 'tuple':
        return `tuple(${this.list(expr.items)})`
      case 'item':
        return `tupleElement(${this.expr(expr.of)}, ${expr.position})`
      case 'subquery':
        return this.#subquery(expr)
      case 'window':
        return this.#window(expr)
      case 'fragment':
        return this.#members(expr) ?? this.#fragment(expr.pieces, expr.args)
      case 'aggregate':
      case 'local_time':
      case 'instant':
        throw new Error(`${expr.kind} is made by passes for DuckDB`)
    }
  }

  #subquery({ form, query, type }: Subquery): string {
    const text = `(${this.query(query)})`
    if (form === 'exists') return `EXISTS ${text}`
    return form === 'scalar' ? this.values.saturated(text, type) : text
  }

  /** The long list of an IN: no other condition has only texts. Null for any other fragment. */
  #members({ args, type }: Fragment): string | null {
    return type.kind === 'truth' ? this.values.list(args) : null
  }

  #fragment(pieces: readonly string[], args: readonly ResolvedExpr[]): string {
    let text = pieces[0] ?? ''
    for (const [index, arg] of args.entries()) text += this.expr(arg) + (pieces[index + 1] ?? '')
    return text
  }

  /** An instant as it is stored: comparisons of the bare column use the table's order. */
  bare(expr: ResolvedExpr): string {
    return expr.kind === 'column' && expr.relation !== 0
      ? this.#columnOf(expr.relation, expr.name)
      : this.expr(expr)
  }

  #column(column: ColumnExpr): string {
    // Relation 0 is the result of a set operation: its columns have no table prefix.
    if (column.relation === 0) return column.name
    const text = this.#columnOf(column.relation, column.name)
    const { type } = column
    // Tables have instants in UTC; those of sub-selects have their zone already.
    return type.kind === 'datetime' && isStoredName(column.name)
      ? `toTimeZone(${text}, ${this.values.text(type.timezone)})`
      : text
  }

  #columnOf(relation: number, name: string): string {
    const wrapper = this.#wrapped.get(relation)
    if (wrapper !== undefined) return `${wrapper}.t${relation}_${name}`
    if (this.#arrays.has(relation)) return `t${relation}_${name}`
    const reads = this.#reads.of(relation)
    if (
      name === 'person_id' &&
      this.#first_events.has(relation) &&
      this.#tables.readsIdOverrides(reads)
    )
      return this.#tables.personOf(relation)
    return `t${relation}.\`${name}\``
  }

  #memberOf(relation: number, path: string, name: string): string {
    const wrapper = this.#wrapped.get(relation)
    if (wrapper !== undefined) return `${wrapper}.t${relation}_${name}`
    return this.#first_events.has(relation)
      ? this.#tables.eventMember(relation, JSON.parse(path))
      : `t${relation}.${name}`
  }

  /** A property by the type that its definition gives it. */
  #property(property: Property): string {
    const { type } = property
    const text = this.#propertyText(property)
    if (type.kind === 'float') return `(toFloat64OrNull(${text}) + 0)`
    if (type.kind === 'bool')
      return `multiIf(${text} = 'true', true, ${text} = 'false', false, NULL)`
    if (type.kind !== 'datetime') return text
    return `parseDateTime64BestEffortOrNull(${text}, 6, ${this.values.text(type.timezone)})`
  }

  #propertyText(property: Property): string {
    const { of, path } = property
    const name = this.#reads.memberOf(property)
    if (name !== null && of.kind === 'column' && !this.#keyed_properties.has(of.relation))
      return this.#memberOf(of.relation, JSON.stringify(path), name)
    const json = of.type.nullable ? `ifNull(${this.expr(of)}, '')` : this.expr(of)
    return this.#tables.jsonMember(json, path)
  }

  #window({ call, over }: Window): string {
    return `${this.expr(call)} OVER (${this.#over(over)})`
  }

  #over({ partition_by, order_by, frame }: Over): string {
    return [
      partition_by.length === 0 ? '' : `PARTITION BY ${this.list(partition_by)}`,
      order_by.length === 0 ? '' : `ORDER BY ${this.#orders(order_by, countsSeconds(frame))}`,
      frame === null ? '' : this.#frame(frame),
    ]
      .filter((part) => part !== '')
      .join(' ')
  }

  #frame({ method, start, end }: NonNullable<Over['frame']>): string {
    if (end === null) return `${method} ${this.#bound(start)}`
    return `${method} BETWEEN ${this.#bound(start)} AND ${this.#bound(end)}`
  }

  #bound({ direction, offset }: FrameBound): string {
    if (direction === 'CURRENT ROW') return direction
    return `${offset === null ? 'UNBOUNDED' : this.#frameOffset(offset)} ${direction}`
  }

  /** Frames over dates are counted in days, those over instants in microseconds: see `countsSeconds`. */
  #frameOffset(offset: NonNullable<FrameBound['offset']>): string {
    if (offset.type.kind !== 'interval') return this.expr(offset)
    const count = Number(offset.value)
    if (offset.type.unit !== 'Second') return count.toFixed()
    if (count * 1_000_000 > FRAME_OFFSET_MAX)
      return refuseInClickHouse(
        'RANGE over more than 2147 seconds of times with fractions (toUnixTimestamp of them has no such limit)',
      )
    return (count * 1_000_000).toFixed()
  }

  /** Prints the name, parameters and FILTER of an aggregate. */
  namedCall(name: string, args: readonly string[], call: Apply): string {
    const { aggregate, params } = call
    if (aggregate !== null && aggregate.order_by.length > 0)
      return refuseInClickHouse('ORDER BY inside of an aggregate function')
    const head = params.length === 0 ? name : `${name}(${this.list(params)})`
    const distinct = aggregate?.distinct ? 'DISTINCT ' : ''
    const filter = aggregate?.filter ? ` FILTER (WHERE ${this.expr(aggregate.filter)})` : ''
    return `${head}(${distinct}${args.join(', ')})${filter}`
  }
}

/** ClickHouse takes an offset of 32 bits. */
const FRAME_OFFSET_MAX = 2 ** 31 - 1

/** Whether a frame is a distance between instants: ClickHouse has none over times with fractions, so that they are ordered as µs. */
const countsSeconds = (frame: Over['frame']): boolean =>
  [frame?.start, frame?.end].some(
    (bound) => bound?.offset?.type.kind === 'interval' && bound.offset.type.unit === 'Second',
  )

/** The query with other names for its columns: those by which a recursive CTE is read. */
function withColumnIds(query: ResolvedQuery, ids: readonly number[]): ResolvedQuery {
  const renamed = <Column extends { readonly id: number }>(columns: readonly Column[]): Column[] =>
    columns.map((column, index) => ({ ...column, id: ids[index] ?? column.id }))
  return query.kind === 'select'
    ? { ...query, columns: renamed(query.columns) }
    : { ...query, columns: renamed(query.columns), first: withColumnIds(query.first, ids) }
}

/** The relations of which a select groups by all properties, as one text. */
function keyedProperties(group_by: ResolvedSelect['group_by']): ReadonlySet<number> {
  const keys = group_by?.sets.flat() ?? []
  return new Set(
    keys.flatMap((key) =>
      key.kind === 'column' && key.name === 'properties' ? [key.relation] : [],
    ),
  )
}

/** A column of a table, not one that a sub-select computes. */
const isStoredName = (name: string): boolean => !/^c\d+$/.test(name)

/** LIMIT of a percentage, as a fraction of one. */
function shareOf(limit: ResolvedExpr): string {
  const percent = limit.kind === 'value' ? Number(limit.value) : Number.NaN
  if (!(percent > 0 && percent < 100)) return refuseInClickHouse('LIMIT of such a percentage')
  return String(percent / 100)
}
