/**
 * Pass lowerComparisons: both sides of a comparison get one type; constants are converted at
 * compile time.
 *
 *   timestamp > '2024-03-10'
 *   → timestamp > TIMESTAMP '2024-03-10 00:00:00'
 */

import { Refusal } from '../../errors.ts'
import type { CompileContext } from '../context.ts'
import { asFloat, asInstant, asText, constantDate, constantInstant, convert } from '../convert.ts'
import type { Apply, ResolvedExpr } from '../ir.ts'
import { startOfDate } from '../local-time.ts'
import { bind, bindBool, constantText, sql } from '../sql-fragments.ts'
import {
  BOOL,
  DATE,
  FLOAT64,
  INT64,
  isBoolean,
  isNumeric,
  isText,
  type Type,
  UUID,
  withNull,
} from '../types.ts'
import { mapStatement, type Pass } from './walk.ts'

const COMPARED: ReadonlySet<string> = new Set([
  'equals',
  'notEquals',
  'less',
  'greater',
  'lessOrEquals',
  'greaterOrEquals',
  'isDistinctFrom',
  'isNotDistinctFrom',
  'in',
  'notIn',
])

/** Gives both sides of every comparison, and all alternatives of every IN, one type. */
export const lowerComparisons: Pass = (statement, context) =>
  mapStatement(statement, {
    expr: (expr) =>
      expr.kind === 'apply' && COMPARED.has(expr.name) ? alignSides(expr, context) : expr,
  })

function alignSides(call: Apply, context: CompileContext): ResolvedExpr {
  const [left, ...others] = call.args
  if (left === undefined) return call
  const [right] = others
  if (others.length === 1 && right !== undefined) {
    const [a, b] = toCommonType(left, right, context)
    return { ...call, args: [a, b] }
  }
  const pairs = others.map((other) => toCommonType(left, other, context))
  const converted_left = pairs.find(([a]) => a !== left)?.[0] ?? left
  return { ...call, args: [converted_left, ...pairs.map(([, b]) => b)] }
}

/** Both sides, converted to a common type. */
function toCommonType(
  left: ResolvedExpr,
  right: ResolvedExpr,
  context: CompileContext,
): readonly [ResolvedExpr, ResolvedExpr] {
  const [a, b] = [left.type, right.type]
  if (a.kind === 'null' || b.kind === 'null') return [left, right]
  if (a.kind === b.kind || (isNumeric(a) && isNumeric(b))) return alignTuples(left, right, context)
  if (rank(a) < rank(b))
    return [convertWeaker(left, right, context), adaptStronger(right, left, context)]
  return [adaptStronger(left, right, context), convertWeaker(right, left, context)]
}

function alignTuples(
  left: ResolvedExpr,
  right: ResolvedExpr,
  context: CompileContext,
): readonly [ResolvedExpr, ResolvedExpr] {
  if (left.kind !== 'tuple' || right.kind !== 'tuple') return [left, right]
  const pairs = left.items.map((item, index): readonly [ResolvedExpr, ResolvedExpr] => {
    const other = right.items[index]
    return other === undefined ? [item, item] : toCommonType(item, other, context)
  })
  if (left.items.length !== right.items.length) return [left, right]
  return [
    tupleWith(
      left,
      pairs.map(([a]) => a),
    ),
    tupleWith(
      right,
      pairs.map(([, b]) => b),
    ),
  ]
}

function tupleWith(tuple: ResolvedExpr, items: readonly ResolvedExpr[]): ResolvedExpr {
  return {
    kind: 'tuple',
    items,
    type: { kind: 'tuple', items: items.map((item) => item.type), nullable: false },
  } satisfies ResolvedExpr & { type: typeof tuple.type }
}

/** The side of lower rank is converted: text to anything, booleans to numbers, dates to instants. */
function rank(type: Type): number {
  if (isText(type)) return 0
  if (isBoolean(type)) return 1
  if (type.kind === 'date') return 2
  if (isNumeric(type)) return 3
  return 4
}

/** The side that keeps its type; it becomes text where the other one is text that is not constant. */
function adaptStronger(
  strong: ResolvedExpr,
  weak: ResolvedExpr,
  context: CompileContext,
): ResolvedExpr {
  if (strong.type.kind === 'uuid' && isText(weak.type) && uuidOf(weak) === null)
    return asText(strong, context)
  if (['array', 'tuple', 'map'].includes(strong.type.kind) && isText(weak.type))
    return asText(strong, context)
  return strong
}

/** The other side, converted. */
function convertWeaker(
  weak: ResolvedExpr,
  strong: ResolvedExpr,
  context: CompileContext,
): ResolvedExpr {
  const { type } = strong
  const text = constantText(weak)
  if (type.kind === 'datetime') {
    if (text === null) return instantFrom(weak, type, context)
    return constantInstant(weak, type.timezone, context) ?? wrongConstant(text, 'DateTime')
  }
  if (type.kind === 'date')
    return text === null
      ? convert(weak, withNull(DATE), context)
      : (constantDate(weak) ?? wrongConstant(text, 'Date'))
  if (isNumeric(type)) return numberFrom(weak)
  if (isBoolean(type))
    return text === null ? convert(weak, withNull(BOOL), context) : constantBool(text)
  const uuid = type.kind === 'uuid' ? uuidOf(weak) : null
  return uuid === null ? weak : bind(uuid, UUID)
}

function instantFrom(
  weak: ResolvedExpr,
  type: Type & { kind: 'datetime' },
  context: CompileContext,
): ResolvedExpr {
  if (weak.type.kind === 'date') return startOfDate(weak, type.timezone, context)
  return asInstant(weak, type.timezone, context)
}

function wrongConstant(text: string, type: string): never {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text
  throw new Refusal('invalid_input', `Cannot parse '${shown}' as ${type}`, { attr: 'query' })
}

function numberFrom(weak: ResolvedExpr): ResolvedExpr {
  const text = constantText(weak)
  if (text !== null && /^-?\d{1,18}$/.test(text.trim())) return bind(BigInt(text.trim()), INT64)
  const value = text === null ? Number.NaN : Number(text)
  if (text !== null && text.trim() !== '' && Number.isFinite(value)) return bind(value, FLOAT64)
  if (isBoolean(weak.type)) return sql`(${weak})::BIGINT`(withNull(INT64, weak.type.nullable))
  return asFloat(weak)
}

function constantBool(text: string): ResolvedExpr {
  const lower = text.toLowerCase()
  if (lower === 'true' || lower === '1') return bindBool(true)
  if (lower === 'false' || lower === '0') return bindBool(false)
  return wrongConstant(text, 'Bool')
}

const UUID_TEXT = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i

function uuidOf(expr: ResolvedExpr): string | null {
  const text = constantText(expr)
  return text !== null && UUID_TEXT.test(text) ? text.toLowerCase() : null
}
