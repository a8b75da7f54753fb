/**
 * Pass lowerComparisons: both sides of a comparison get one type; constants are converted at
 * compile time.
 *
 *   timestamp > '2024-03-10'
 *   → timestamp > TIMESTAMP '2024-03-10 00:00:00'
 */

import { Refusal } from '../../../errors.ts'
import type { CompileContext } from '../../context.ts'
import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { bind, bindBool, constantText } from '../../sql/sql-fragments.ts'
import { constantDate, constantInstant, convert } from '../../types/convert.ts'
import {
  BOOL,
  DATE,
  FLOAT64,
  INT64,
  isBoolean,
  isNumeric,
  isText,
  STRING,
  type Type,
  tupleType,
  UUID,
  withNull,
} from '../../types/types.ts'
import { mapStatement, type Pass } from '../walk.ts'

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

/** Converts an expression that is not constant, in an engine's way. */
export type Conversion = (expr: ResolvedExpr, to: Type, context: CompileContext) => ResolvedExpr

/** The context and the conversion for the sides of a comparison. */
type Alignment = { readonly context: CompileContext; readonly conversion: Conversion }

/** Gives both sides of every comparison, and all alternatives of every IN, one type. */
export function lowerComparisonsWith(conversion: Conversion): Pass {
  return (statement, context) =>
    mapStatement(statement, {
      expr: (expr) =>
        expr.kind === 'apply' && COMPARED.has(expr.name)
          ? alignSides(expr, { context, conversion })
          : expr,
    })
}

/** The same with DuckDB's conversions. */
export const lowerComparisons: Pass = lowerComparisonsWith(convert)

function alignSides(call: Apply, alignment: Alignment): ResolvedExpr {
  const [left, ...others] = call.args
  if (left === undefined) return call
  const [right] = others
  if (others.length === 1 && right !== undefined) {
    const [a, b] = toCommonType(left, right, alignment)
    return { ...call, args: [a, b] }
  }
  const pairs = others.map((other) => toCommonType(left, other, alignment))
  const converted_left = pairs.find(([a]) => a !== left)?.[0] ?? left
  return { ...call, args: [converted_left, ...pairs.map(([, b]) => b)] }
}

/** Both sides, converted to a common type. */
function toCommonType(
  left: ResolvedExpr,
  right: ResolvedExpr,
  alignment: Alignment,
): readonly [ResolvedExpr, ResolvedExpr] {
  const [a, b] = [left.type, right.type]
  if (a.kind === 'null' || b.kind === 'null') return [left, right]
  if (a.kind === b.kind || (isNumeric(a) && isNumeric(b)))
    return alignTuples(left, right, alignment)
  if (rank(a) < rank(b))
    return [convertWeaker(left, right, alignment), adaptStronger(right, left, alignment)]
  return [adaptStronger(left, right, alignment), convertWeaker(right, left, alignment)]
}

function alignTuples(
  left: ResolvedExpr,
  right: ResolvedExpr,
  alignment: Alignment,
): readonly [ResolvedExpr, ResolvedExpr] {
  if (left.kind !== 'tuple' || right.kind !== 'tuple') return [left, right]
  const pairs = left.items.map((item, index): readonly [ResolvedExpr, ResolvedExpr] => {
    const other = right.items[index]
    return other === undefined ? [item, item] : toCommonType(item, other, alignment)
  })
  if (left.items.length !== right.items.length) return [left, right]
  return [tupleWith(pairs.map(([a]) => a)), tupleWith(pairs.map(([, b]) => b))]
}

function tupleWith(items: readonly ResolvedExpr[]): ResolvedExpr {
  return { kind: 'tuple', items, type: tupleType(items.map((item) => item.type)) }
}

/** The side of lower rank is converted: text to anything, booleans to numbers, dates to instants. */
function rank(type: Type): number {
  if (isText(type)) return 0
  if (isBoolean(type)) return 1
  if (type.kind === 'date') return 2
  if (isNumeric(type)) return 3
  return 4
}

/** The side that keeps its type. Beside a text that is no constant, it becomes text. */
function adaptStronger(
  strong: ResolvedExpr,
  weak: ResolvedExpr,
  { context, conversion }: Alignment,
): ResolvedExpr {
  if (strong.type.kind === 'uuid' && isText(weak.type) && uuidOf(weak) === null)
    return conversion(strong, STRING, context)
  if (['array', 'tuple', 'map'].includes(strong.type.kind) && isText(weak.type))
    return conversion(strong, STRING, context)
  return strong
}

/** The other side, converted. */
function convertWeaker(
  weak: ResolvedExpr,
  strong: ResolvedExpr,
  alignment: Alignment,
): ResolvedExpr {
  const { context, conversion } = alignment
  const { type } = strong
  const text = constantText(weak)
  if (type.kind === 'datetime') {
    if (text === null) return conversion(weak, type, context)
    return constantInstant(weak, type.timezone, context) ?? wrongConstant(text, 'DateTime')
  }
  if (type.kind === 'date')
    return text === null
      ? conversion(weak, withNull(DATE), context)
      : (constantDate(weak) ?? wrongConstant(text, 'Date'))
  if (isNumeric(type)) return numberFrom(weak, alignment)
  if (isBoolean(type))
    return text === null ? conversion(weak, withNull(BOOL), context) : constantBool(text)
  const uuid = type.kind === 'uuid' ? uuidOf(weak) : null
  return uuid === null ? weak : bind(uuid, UUID)
}

function wrongConstant(text: string, type: string): never {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text
  throw new Refusal('invalid_input', `Cannot parse '${shown}' as ${type}`, { attr: 'query' })
}

function numberFrom(weak: ResolvedExpr, { context, conversion }: Alignment): ResolvedExpr {
  const text = constantText(weak)
  if (text !== null && /^-?\d{1,18}$/.test(text.trim())) return bind(BigInt(text.trim()), INT64)
  const value = text === null ? Number.NaN : Number(text)
  if (text !== null && text.trim() !== '' && Number.isFinite(value)) return bind(value, FLOAT64)
  return conversion(weak, isBoolean(weak.type) ? INT64 : FLOAT64, context)
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
