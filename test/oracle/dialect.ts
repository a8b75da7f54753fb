/** A second printer: what a question means, in ClickHouse's SQL. It stands beside the first one and shares all before it. */

import type {
  Apply,
  GroupBy,
  JoinKind,
  Over,
  Property,
  Relation,
  ResolvedExpr,
  ResolvedQuery,
  ResolvedSelect,
  SetQuery,
  Statement,
  ValueExpr,
  Window,
} from '../../src/hogql/ir.ts'
import { RelativeTime } from '../../src/hogql/relative-time.ts'
import { clickhouseName } from '../../src/hogql/types.ts'

/** What this printer has no words for; the question is left out. */
export class Unprintable extends Error {}

/** Prints a resolved statement; `now_us` is the one now of the question. */
export function printClickHouse({ ctes, query }: Statement, now_us: bigint): string {
  const named = ctes.map((cte) => {
    if (cte.recursive !== null) throw new Unprintable('a recursive CTE')
    return `q${cte.id} AS (${printQuery(cte.query, now_us)})`
  })
  const body = printQuery(query, now_us)
  return named.length === 0 ? body : `WITH ${named.join(', ')} ${body}`
}

function printQuery(query: ResolvedQuery, now_us: bigint): string {
  return query.kind === 'select' ? printSelect(query, now_us) : printSet(query, now_us)
}

function printSet(query: SetQuery, now_us: bigint): string {
  const legs = query.rest.map(
    (leg) => ` ${leg.operator.replace(/^\w+$/, '$& DISTINCT')} (${printQuery(leg.query, now_us)})`,
  )
  const names = query.columns.map(({ id }) => `c${id}`).join(', ')
  const all = `(${printQuery(query.first, now_us)})${legs.join('')}`
  return `SELECT ${names} FROM (${all})${limitsOf(query, now_us)}`
}

function printSelect(select: ResolvedSelect, now_us: bigint): string {
  const print = (expr: ResolvedExpr): string => printExpr(expr, now_us)
  const columns = select.columns.map(({ id, expr }) => `${print(expr)} AS c${id}`)
  const by = select.limit_by
  return [
    `SELECT ${select.distinct ? 'DISTINCT ' : ''}${columns.join(', ')}`,
    select.from === null ? '' : ` FROM ${printRelation(select.from, now_us)}`,
    select.where === null ? '' : ` WHERE ${print(select.where)}`,
    select.group_by === null ? '' : ` GROUP BY ${printGroups(select.group_by, print)}`,
    select.having === null ? '' : ` HAVING ${print(select.having)}`,
    select.qualify === null ? '' : ` QUALIFY ${print(select.qualify)}`,
    limitsOf(select, now_us, by === null ? '' : limitByOf(by, print)),
  ].join('')
}

function limitByOf(
  by: NonNullable<ResolvedSelect['limit_by']>,
  print: (expr: ResolvedExpr) => string,
): string {
  const offset = by.offset === null ? '' : ` OFFSET ${print(by.offset)}`
  return ` LIMIT ${print(by.count)}${offset} BY ${by.keys.map(print).join(', ')}`
}

function limitsOf(
  { order_by, limit, offset, limit_percent, with_ties }: ResolvedSelect | SetQuery,
  now_us: bigint,
  by = '',
): string {
  if (limit_percent) throw new Unprintable('LIMIT in percent')
  return [
    order_by.length === 0 ? '' : ` ORDER BY ${printOrders(order_by, now_us)}`,
    by,
    limit === null ? '' : ` LIMIT ${printExpr(limit, now_us)}`,
    offset === null ? '' : ` OFFSET ${printExpr(offset, now_us)}`,
    with_ties ? ' WITH TIES' : '',
  ].join('')
}

function printOrders(orders: ResolvedSelect['order_by'], now_us: bigint): string {
  return orders
    .map(
      ({ expr, descending, nulls }) =>
        `${printExpr(expr, now_us)}${descending ? ' DESC' : ''}${nulls === null ? '' : ` NULLS ${nulls}`}`,
    )
    .join(', ')
}

function printGroups({ mode, sets }: GroupBy, print: (expr: ResolvedExpr) => string): string {
  const lists = sets.map((keys) => keys.map(print).join(', '))
  switch (mode) {
    case 'all':
      return 'ALL'
    case 'plain':
      return lists.join(', ')
    case 'rollup':
      return `ROLLUP (${lists.join(', ')})`
    case 'cube':
      return `CUBE (${lists.join(', ')})`
    case 'grouping_sets':
      return `GROUPING SETS (${lists.map((list) => `(${list})`).join(', ')})`
  }
}

// ── relations ────────────────────────────────────────────────────────────────────────────────

const JOINS: Readonly<Partial<Record<JoinKind, string>>> = {
  ANTI: 'LEFT ANTI JOIN',
  CROSS: 'CROSS JOIN',
  FULL: 'FULL JOIN',
  INNER: 'INNER JOIN',
  LEFT: 'LEFT JOIN',
  RIGHT: 'RIGHT JOIN',
  SEMI: 'LEFT SEMI JOIN',
}

function printRelation(relation: Relation, now_us: bigint): string {
  switch (relation.kind) {
    case 'scan':
      return `${relation.table} AS t${relation.id}`
    case 'derived':
      return `(${printQuery(relation.query, now_us)}) AS t${relation.id}`
    case 'cte_scan':
      return `q${relation.cte} AS t${relation.id}`
    case 'series':
      return `(SELECT arrayJoin(range(${relation.args.map((arg) => printExpr(arg, now_us)).join(', ')})) AS c1) AS t${relation.id}`
    case 'rows':
    case 'unnest':
      throw new Unprintable(relation.kind)
    case 'join': {
      const kind = JOINS[relation.join]
      if (kind === undefined) throw new Unprintable(relation.join)
      const right = printRelation(relation.right, now_us)
      if (relation.right.kind === 'join') throw new Unprintable('a join of joins')
      const on = relation.on === null ? '' : ` ON ${printExpr(relation.on, now_us)}`
      return `${printRelation(relation.left, now_us)} ${kind} ${right}${on}`
    }
  }
}

// ── expressions ──────────────────────────────────────────────────────────────────────────────

function printExpr(expr: ResolvedExpr, now_us: bigint): string {
  const print = (inner: ResolvedExpr): string => printExpr(inner, now_us)
  switch (expr.kind) {
    case 'value':
      return printValue(expr)
    case 'column':
      return expr.relation === 0 ? expr.name : `t${expr.relation}.\`${expr.name}\``
    case 'local':
      return `x${Math.abs(expr.id)}`
    case 'apply':
      return printCall(expr, now_us)
    case 'lambda':
      return `(${expr.locals.map(print).join(', ')}) -> ${print(expr.body)}`
    case 'property':
      return printProperty(expr, print)
    case 'tuple':
      return `tuple(${expr.items.map(print).join(', ')})`
    case 'item':
      return `tupleElement(${print(expr.of)}, ${expr.position})`
    case 'subquery':
      return `${expr.form === 'exists' ? 'EXISTS ' : ''}(${printQuery(expr.query, now_us)})`
    case 'window':
      return printWindow(expr, now_us)
    // What the shared passes spell is plain SQL.
    case 'fragment':
      return expr.pieces
        .map(
          (piece, index) => piece + (expr.args[index] === undefined ? '' : print(expr.args[index])),
        )
        .join('')
    case 'clock':
    case 'aggregate':
    case 'instant':
      throw new Unprintable(expr.kind)
  }
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function printValue({ value: valued, type }: ValueExpr): string {
  const value = valued instanceof RelativeTime ? valued.us : valued
  if (value === null) return 'NULL'
  if (typeof value === 'boolean') return String(value)
  if (type.kind === 'datetime' && typeof value === 'bigint')
    return `fromUnixTimestamp64Micro(toInt64(${value}), '${type.timezone}')`
  if (type.kind === 'date') return `toDate(${value})`
  if (type.kind === 'interval') return `toInterval${type.unit}(${value})`
  if (type.kind === 'uuid') return `toUUID(${quoted(String(value))})`
  if (type.kind === 'float') return `toFloat64(${quoted(String(value))})`
  return typeof value === 'string' ? quoted(value) : String(value)
}

/** A property by the type its definition gives it. */
function printProperty(
  { of, path, type }: Property,
  print: (expr: ResolvedExpr) => string,
): string {
  const keys = path.map((key) => (typeof key === 'string' ? quoted(key) : String(key)))
  const raw = `JSONExtractRaw(${[print(of), ...keys].join(', ')})`
  const text = `JSONExtractString(${[print(of), ...keys].join(', ')})`
  const found = `if(${raw} IN ('', 'null'), NULL, if(startsWith(${raw}, '"'), ${text}, ${raw}))`
  if (type.kind === 'float') return `toFloat64OrNull(${found})`
  if (type.kind === 'bool') return `transform(${found}, ['true', 'false'], [true, false], NULL)`
  if (type.kind !== 'datetime') return found
  return `parseDateTime64BestEffortOrNull(${found}, 6, '${type.timezone}')`
}

function printWindow({ call, over }: Window, now_us: bigint): string {
  return `${printExpr(call, now_us)} OVER (${printOver(over, now_us)})`
}

function printOver({ partition_by, order_by, frame }: Over, now_us: bigint): string {
  const keys = partition_by.map((key) => printExpr(key, now_us)).join(', ')
  const bound = ({ direction, offset }: NonNullable<Over['frame']>['start']): string =>
    direction === 'CURRENT ROW'
      ? direction
      : `${offset === null ? 'UNBOUNDED' : printExpr(offset, now_us)} ${direction}`
  const end = frame?.end ? ` AND ${bound(frame.end)}` : ''
  return [
    keys === '' ? '' : `PARTITION BY ${keys}`,
    order_by.length === 0 ? '' : `ORDER BY ${printOrders(order_by, now_us)}`,
    frame === null
      ? ''
      : `${frame.method} ${end === '' ? '' : 'BETWEEN '}${bound(frame.start)}${end}`,
  ].join(' ')
}

type Printing = (args: readonly string[], call: Apply) => string

/** Calls that ClickHouse spells otherwise, or not at all. */
const CALLS: Readonly<Record<string, Printing>> = {
  groupingOfKeys: (args) => `grouping(${args.join(', ')})`,
  _caseWithExpression: (args) => `caseWithExpression(${args.join(', ')})`,
  in: ([left, ...rest], { args }) => `(${left} IN ${membersOf(rest, args)})`,
  notIn: ([left, ...rest], { args }) => `(${left} NOT IN ${membersOf(rest, args)})`,
  asType: ([value], { type }) => `CAST(${value}, '${clickhouseName(type)}')`,
  orEmpty: ([value]) => `ifNull(${value}, '')`,
  memberOf: ([of, key]) => `JSONExtract(${of}, toString(${key}), 'Nullable(String)')`,
  sliceOf: ([of, from, to]) =>
    to === undefined
      ? `arraySlice(${of}, ${from})`
      : `arraySlice(${of}, ${from}, ${to} - ${from} + 1)`,
  sampleBucket: () => {
    throw new Unprintable('SAMPLE')
  },
  concat: (args) => `concat(${args.map((arg) => `ifNull(toString(${arg}), '')`).join(', ')})`,
  // SQL's own functions give NULL where there is no such row.
  lag: ([value, ...rest]) => `lag(${[`toNullable(${value})`, ...rest].join(', ')})`,
  lead: ([value, ...rest]) => `lead(${[`toNullable(${value})`, ...rest].join(', ')})`,
  matches: (args) => `match(${args.join(', ')})`,
  notMatch: (args) => `not(match(${args.join(', ')}))`,
  toDateTime: ([value, zone], { type }) =>
    `toDateTime64(${value}, 6, ${zone ?? quoted(type.kind === 'datetime' ? type.timezone : 'UTC')})`,
}

/** A list is written out, rows and arrays stand for themselves. */
function membersOf(rest: readonly string[], args: readonly ResolvedExpr[]): string {
  const [, right] = args
  const [only] = rest
  const is_whole = rest.length === 1 && (right?.kind === 'subquery' || right?.type.kind === 'array')
  return is_whole ? (only ?? '') : `(${rest.join(', ')})`
}

/** These only take moments of whole seconds there. */
const IN_SECONDS = /^(windowFunnel|sequenceMatch|sequenceCount)/

function printCall(call: Apply, now_us: bigint): string {
  const args = call.args.map((arg, index) => {
    const text = printExpr(arg, now_us)
    const is_cut = index === 0 && arg.type.kind === 'datetime' && IN_SECONDS.test(call.name)
    return is_cut ? `toDateTime(${text})` : text
  })
  if (call.name === 'now' && call.type.kind === 'datetime')
    return `fromUnixTimestamp64Micro(toInt64(${now_us}), '${call.type.timezone}')`
  const own = Object.hasOwn(CALLS, call.name) ? CALLS[call.name] : undefined
  if (own !== undefined) return own(args, call)
  const params = call.params.map((param) => printExpr(param, now_us))
  const head = params.length === 0 ? call.name : `${call.name}(${params.join(', ')})`
  const { aggregate } = call
  if (aggregate !== null && aggregate.order_by.length > 0) throw new Unprintable('ORDER BY inside')
  const distinct = aggregate?.distinct ? 'DISTINCT ' : ''
  const filter = aggregate?.filter ? ` FILTER (WHERE ${printExpr(aggregate.filter, now_us)})` : ''
  return `${head}(${distinct}${args.join(', ')})${filter}`
}
