/**
 * Prints a lowered statement as DuckDB SQL. It looks nothing up, writes only static text and
 * generated names, and binds every value.
 */

import type { EventMacro } from '../query-reads.ts'
import { RelativeTime } from '../times/relative-time.ts'
import { duckdbName, INT64, type IntervalUnit, type Type } from '../types/types.ts'
import { printGroupBy } from './group-by.ts'
import type {
  Aggregate,
  ColumnName,
  Cte,
  FrameBound,
  OrderBy,
  Over,
  Relation,
  ResolvedExpr,
  ResolvedQuery,
  ResolvedSelect,
  Scalar,
  Scan,
  SelectLimits,
  SetQuery,
  Statement,
} from './ir.ts'
import { type BoundValue, boundType, StatementParameters } from './parameters.ts'

export type PrintedQuery = {
  readonly sql: string
  readonly values: readonly BoundValue[]
  /** Indexes of the values that are relative to `now`. */
  readonly relative_values: readonly number[]
}

/**
 * Prints one SELECT and the values of its parameters, equal values sharing one parameter. Events are read from the macro
 * of their form.
 */
export function printStatement(
  statement: Statement,
  events: readonly EventMacro[] = [],
): PrintedQuery {
  const parameters = new StatementParameters()
  const body = new SqlPrinter(parameters, events).statement(statement)
  return { sql: body, values: parameters.values, relative_values: parameters.relative_values }
}

/** The word that makes the engine compute a CTE once, or at each use; by default the engine decides. */
function materializedWord(is_materialized: boolean | null): string {
  if (is_materialized === null) return ''
  return is_materialized ? 'MATERIALIZED ' : 'NOT MATERIALIZED '
}

class SqlPrinter {
  readonly #parameters: StatementParameters
  readonly #events: readonly EventMacro[]

  constructor(parameters: StatementParameters, events: readonly EventMacro[]) {
    this.#parameters = parameters
    this.#events = events
  }

  statement({ ctes, query }: Statement): string {
    if (ctes.length === 0) return this.#query(query)
    const recursive = ctes.some((cte) => cte.recursive !== null) ? 'RECURSIVE ' : ''
    return `WITH ${recursive}${ctes.map((cte) => this.#cte(cte)).join(', ')} ${this.#query(query)}`
  }

  #cte(cte: Cte): string {
    const names =
      cte.recursive === null ? '' : `(${cte.recursive.map((id) => `c${id}`).join(', ')})`
    return `q${cte.id}${names} AS ${materializedWord(cte.materialized)}(${this.#query(cte.query)})`
  }

  #query(query: ResolvedQuery): string {
    return query.kind === 'select' ? this.#select(query) : this.#set(query)
  }

  #set(query: SetQuery): string {
    const legs = query.rest.map((leg) => ` ${leg.operator} (${this.#query(leg.query)})`)
    return `(${this.#query(query.first)})${legs.join('')}${this.#limits(query, [])}`
  }

  #select(select: ResolvedSelect): string {
    const texts = select.columns.map((column) => this.#expr(column.expr))
    const columns = select.columns.map((column, index) => `${texts[index]} AS c${column.id}`)
    return [
      `SELECT ${select.distinct ? 'DISTINCT ' : ''}${columns.join(', ')}`,
      select.from === null ? '' : ` FROM ${this.#relation(select.from)}`,
      select.where === null ? '' : ` WHERE ${this.#expr(select.where)}`,
      select.group_by === null
        ? ''
        : ` GROUP BY ${printGroupBy(select.group_by, (keys) => this.#list(keys))}`,
      select.having === null ? '' : ` HAVING ${this.#expr(select.having)}`,
      select.qualify === null ? '' : ` QUALIFY ${this.#expr(select.qualify)}`,
      this.#limits(select, texts),
    ].join('')
  }

  #limits(limits: SelectLimits, columns: readonly string[]): string {
    const { order_by, limit, offset, limit_percent } = limits
    return [
      order_by.length === 0 ? '' : ` ORDER BY ${this.#orders(order_by, columns)}`,
      limit === null ? '' : ` LIMIT ${this.#expr(limit)}${limit_percent ? '%' : ''}`,
      offset === null ? '' : ` OFFSET ${this.#expr(offset)}`,
    ].join('')
  }

  /** A key that is a column of the select is printed as the column's number, which is shorter. */
  #orders(order_by: readonly OrderBy[], columns: readonly string[] = []): string {
    return order_by
      .map(({ expr, descending, nulls }) => {
        const text = this.#expr(expr)
        const position = columns.indexOf(text) + 1
        const direction = descending ? ' DESC' : ''
        const key = position > 0 ? String(position) : text
        return `${key}${direction}${nulls === null ? '' : ` NULLS ${nulls}`}`
      })
      .join(', ')
  }

  #relation(relation: Relation): string {
    switch (relation.kind) {
      case 'scan':
        return this.#scan(relation)
      case 'derived':
        return `(${this.#query(relation.query)}) AS t${relation.id}`
      case 'cte_scan':
        return `q${relation.cte} AS t${relation.id}`
      case 'gathered':
        return `read_parquet($${this.#parameters.file(relation.file)}) AS t${relation.id}`
      case 'series':
        return `range(${this.#list(relation.args)}) AS t${relation.id}(c1)`
      case 'rows':
        return `(VALUES ${relation.rows.map((row) => `(${this.#list(row)})`).join(', ')}) AS t${relation.id}(${columnList(relation.rows[0]?.length ?? 0)})`
      case 'unnest':
        return `(SELECT ${relation.lists.map((list, index) => `unnest(${this.#expr(list)}) AS c${index + 1}`).join(', ')}) AS t${relation.id}`
      case 'join':
        return this.#join(relation)
    }
  }

  #scan({ id, table, project, local_times }: Scan): string {
    const guard = this.#parameters.project(project.project_id)
    const macro = this.#events.find(({ form }) => form === table)?.name ?? `${table}_of`
    const scan = `${macro}($${guard}::BIGINT) AS t${id}`
    if (local_times.length === 0) return scan
    const computed = local_times.map(
      (local_time) => `${this.#expr(local_time.expr)} AS l${local_time.id}`,
    )
    return `(SELECT t${id}.*, ${computed.join(', ')} FROM ${scan}) AS t${id}`
  }

  #join(relation: Relation & { kind: 'join' }): string {
    const left = this.#relation(relation.left)
    const right = this.#relation(relation.right)
    const grouped = relation.right.kind === 'join' ? `(${right})` : right
    const on = relation.on === null ? '' : ` ON ${this.#expr(relation.on)}`
    return `${left} ${relation.join} JOIN ${grouped}${on}`
  }

  #list(exprs: readonly ResolvedExpr[]): string {
    return exprs.map((expr) => this.#expr(expr)).join(', ')
  }

  #expr(expr: ResolvedExpr): string {
    switch (expr.kind) {
      case 'value':
        return this.#value(expr.value, expr.type)
      case 'column':
        // Relation 0 is the result of a set operation: its columns have no table prefix.
        return expr.relation === 0 ? expr.name : `t${expr.relation}.${quoteColumn(expr.name)}`
      case 'local':
        return expr.id < 0 ? `y${-expr.id}` : `x${expr.id}`
      case 'lambda':
        return `lambda ${expr.locals.map((local) => this.#expr(local)).join(', ')}: ${this.#expr(expr.body)}`
      case 'fragment':
        return this.#fragment(expr.pieces, expr.args)
      case 'tuple':
        return `{${expr.items.map((item, index) => `'${index + 1}': ${this.#expr(item)}`).join(', ')}}`
      case 'item':
        return `struct_extract_at(${this.#expr(expr.of)}, ${expr.position})`
      case 'aggregate':
        return this.#aggregate(expr)
      case 'subquery':
        return `${expr.form === 'exists' ? 'EXISTS ' : ''}(${this.#query(expr.query)})`
      case 'apply':
      case 'local_time':
      case 'instant':
      case 'property':
      case 'window':
        throw new Error(
          `a pass left ${expr.kind} ${expr.kind === 'apply' ? expr.name : ''} unlowered`,
        )
    }
  }

  #fragment(pieces: readonly string[], args: readonly ResolvedExpr[]): string {
    let text = pieces[0] ?? ''
    for (const [index, arg] of args.entries()) text += this.#expr(arg) + (pieces[index + 1] ?? '')
    return text
  }

  #aggregate(call: Aggregate): string {
    if (call.name === 'last' && call.over !== null) return this.#lastOfFrame(call, call.over)
    const order = call.order_by.length === 0 ? '' : ` ORDER BY ${this.#orders(call.order_by)}`
    const distinct = call.distinct ? 'DISTINCT ' : ''
    const args = call.args.length === 0 && call.name === 'count' ? '*' : this.#list(call.args)
    // Only windows have IGNORE NULLS.
    const is_present = call.ignores_nulls === true && call.over === null
    const conditions = [
      ...(is_present ? [`${args} IS NOT NULL`] : []),
      ...(call.filter === null ? [] : [this.#expr(call.filter)]),
    ]
    const filter = conditions.length === 0 ? '' : ` FILTER (WHERE ${conditions.join(' AND ')})`
    const over = call.over === null ? '' : ` OVER (${this.#over(call.over)})`
    const nulls = call.ignores_nulls === true && call.over !== null ? ' IGNORE NULLS' : ''
    return `${call.name}(${distinct}${args}${order}${nulls})${filter}${over}`
  }

  /** The engine's `last` over a frame takes no FILTER: a row that the condition leaves out has NULL. */
  #lastOfFrame({ args, filter, ignores_nulls }: Aggregate, over: Over): string {
    const value = this.#list(args)
    const nulls = filter !== null || ignores_nulls === true ? ' IGNORE NULLS' : ''
    const shown = filter === null ? value : `CASE WHEN ${this.#expr(filter)} THEN ${value} END`
    return `last(${shown}${nulls}) OVER (${this.#over(over)})`
  }

  #over({ partition_by, order_by, frame }: Over): string {
    return [
      partition_by.length === 0 ? '' : `PARTITION BY ${this.#list(partition_by)}`,
      order_by.length === 0 ? '' : `ORDER BY ${this.#orders(order_by)}`,
      frame === null ? '' : this.#frame(frame.method, frame.start, frame.end),
    ]
      .filter((part) => part !== '')
      .join(' ')
  }

  #frame(method: 'RANGE' | 'ROWS', start: FrameBound, end: FrameBound | null): string {
    if (end === null) return `${method} ${this.#bound(start)}`
    return `${method} BETWEEN ${this.#bound(start)} AND ${this.#bound(end)}`
  }

  #bound({ direction, offset }: FrameBound): string {
    if (direction === 'CURRENT ROW') return direction
    return `${offset === null ? 'UNBOUNDED' : this.#expr(offset)} ${direction}`
  }

  #value(value: Scalar, type: Type): string {
    if (value === null) return type.kind === 'null' ? 'NULL' : `NULL::${duckdbName(type)}`
    if (value === true) return 'TRUE'
    if (value === false) return 'FALSE'
    if (value instanceof RelativeTime) return this.#relativeTime(value, type)
    if (type.kind === 'interval') return this.#interval(value, type.unit)
    return this.#bind(value, type)
  }

  #interval(value: bigint | number | string, unit: IntervalUnit): string {
    const { call, times } = INTERVALS[unit]
    const count = this.#bind(BigInt(value) * times, INT64)
    return `${call}(${count}${unit in WIDE ? '' : '::INTEGER'})`
  }

  #relativeTime(time: RelativeTime, type: Type): string {
    const bound = boundType(time.us, type)
    if (bound !== 'TIMESTAMP') throw new Error(`a ${type.kind} is never relative`)
    return `$${this.#parameters.relativeNumber({ type: bound, value: time.us })}::${bound}`
  }

  #bind(value: bigint | boolean | number | string, type: Type): string {
    const bound = boundType(value, type)
    return `$${this.#parameters.number({ type: bound, value })}::${bound}`
  }
}

function columnList(count: number): string {
  return Array.from({ length: count }, (_, index) => `c${index + 1}`).join(', ')
}

/** Quotes catalog names that are reserved words of SQL. The names are the catalog's, never a user's. */
function quoteColumn(name: ColumnName): string {
  return `"${name}"`
}

const INTERVALS = {
  Second: { call: 'to_seconds', times: 1n },
  Minute: { call: 'to_minutes', times: 1n },
  Hour: { call: 'to_hours', times: 1n },
  Day: { call: 'to_days', times: 1n },
  Week: { call: 'to_days', times: 7n },
  Month: { call: 'to_months', times: 1n },
  Quarter: { call: 'to_months', times: 3n },
  Year: { call: 'to_years', times: 1n },
} as const satisfies Record<IntervalUnit, { call: string; times: bigint }>

/** Units whose counts need 64 bits. */
const WIDE: Partial<Record<IntervalUnit, true>> = { Second: true, Minute: true, Hour: true }
