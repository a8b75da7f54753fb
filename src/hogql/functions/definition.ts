/** The definition of a function: names, arity, result type, and its lowering to the engine's SQL. */

import { memoizeValue } from '../../memoize.ts'
import type { CompileContext } from '../context.ts'
import type { Apply, ResolvedExpr } from '../sql/ir.ts'
import { fill, template } from '../sql/sql-fragments.ts'
import { superType } from '../types/type-unify.ts'
import { arrayType, elementType, type Type, UNKNOWN, withNull } from '../types/types.ts'

export type Arity = { readonly min: number; readonly max: number }

/** A call with resolved arguments, whose type is to be computed. */
export type TypedCall = {
  readonly name: string
  readonly args: readonly ResolvedExpr[]
  readonly params: readonly ResolvedExpr[]
  readonly context: CompileContext
}
export type TypeRule = (call: TypedCall) => Type

/** Lowers a call whose arguments are already lowered. */
export type Lowering = (call: Apply, context: CompileContext) => ResolvedExpr

/** An aggregate over the elements of a list instead of rows. */
export type OverList = (list: ResolvedExpr, call: Pick<Apply, 'params' | 'type'>) => ResolvedExpr

export type FunctionDef = {
  readonly names: readonly string[]
  /** Names match in any case, as SQL's standard functions do. */
  readonly any_case: boolean
  /** Callable only by trees that this program builds, not by texts. */
  readonly is_internal?: true
  readonly role: 'aggregate' | 'scalar' | 'window'
  readonly args: Arity
  /** Null: the function has no form `f(params)(args)`. */
  readonly params: Arity | null
  readonly returns: TypeRule
  readonly lower: Lowering
  /** Aggregates only: the same over the elements of a list, for -Array, -ForEach, -Map, -ArgMax. */
  readonly over_list: OverList | null
}

/**
 * One line of a function table. `names` are separated by `|`, a leading `~` means any case; `arity` reads `2`, `1-3` or
 * `2+`; `lowering` is SQL with holes or a function.
 */
export function scalar(
  names: string,
  arity: string,
  returns: TypeRule,
  lowering: Lowering | string,
): FunctionDef {
  return {
    names: names.replace('~', '').split('|'),
    any_case: names.startsWith('~'),
    role: 'scalar',
    args: readArity(arity),
    params: null,
    returns,
    lower: typeof lowering === 'string' ? printedAs(lowering) : lowering,
    over_list: null,
  }
}

/** Reads `2`, `1-3` or `2+`. */
export function readArity(text: string): Arity {
  if (text.endsWith('+')) return { min: Number(text.slice(0, -1)), max: Number.POSITIVE_INFINITY }
  const [min, max] = text.split('-')
  return { min: Number(min), max: Number(max ?? min) }
}

/** A lowering that fills the holes of a text, which is parsed for the first call: a start needs none of the 600 lines. */
export function printedAs(text: string): Lowering {
  const from = memoizeValue(() => template(text))
  return (call) => fill(from(), call.args, call.type)
}

// ── result types ──────────────────────────────────────────────────────────────────────────

/** The given type, nullable if any argument is. */
export function asDeclared(type: Type): TypeRule {
  return ({ args }) => withNull(type, type.nullable || args.some(isNullable))
}

/** The given type, never more nullable. */
export function nonNull(type: Type): TypeRule {
  return () => type
}

/** The given type, nullable because the conversion can fail. */
export function nullable(type: Type): TypeRule {
  return () => withNull(type)
}

/** The type of the first argument. */
export const typeOfFirst: TypeRule = ({ args }) => typeOf(args[0])

/** The type of the first argument, nullable if any argument is. */
export const sameAsFirst: TypeRule = ({ args }) => withNull(typeOf(args[0]), args.some(isNullable))

/** The common type of all arguments. */
export const sameAsAll: TypeRule = ({ args }) => superType(args.map(typeOf))

/** The type of the elements of the first argument. */
export const firstElement: TypeRule = ({ args }) => elementType(typeOf(args[0]))

/** An array of the type a rule gives. */
export function arrayOf(rule: TypeRule): TypeRule {
  return (call) => arrayType(rule(call))
}

export function typeOf(expr: ResolvedExpr | undefined): Type {
  return expr?.type ?? UNKNOWN
}

export function isNullable(expr: ResolvedExpr): boolean {
  return expr.type.nullable
}
