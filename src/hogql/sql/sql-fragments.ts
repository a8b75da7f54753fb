/**
 * Builders for lowered expressions: bound values, and pieces of SQL that can only come from
 * literals of this program.
 */

import { requireInRange } from '../times/calendar.ts'
import { RelativeTime } from '../times/relative-time.ts'
import { BOOL, INT64, literalIntType, NULL, STRING, TRUTH, type Type } from '../types/types.ts'
import type {
  Aggregate,
  AggregateInput,
  Apply,
  EngineAggregate,
  Fragment,
  Pieces,
  ResolvedExpr,
  Scalar,
  ValueExpr,
} from './ir.ts'

/**
 * Template tag for SQL with arguments; call the result with the type of the whole:
 * sql`coalesce(${a}, ${b})`(type).
 */
export function sql(
  pieces: TemplateStringsArray,
  ...args: readonly ResolvedExpr[]
): (type: Type) => Fragment {
  return (type) => ({ kind: 'fragment', pieces: pieces as unknown as Pieces, args, type })
}

declare const made: unique symbol

/** SQL of the registry with holes: `$1` … `$9` for one argument, `$*` for all of them separated by commas. */
export type Template = { readonly [made]: true; readonly holes: readonly (number | string)[] }

const HOLE = /\$(\d|\*)/

/** Parses the holes of a registry line. The text must be a constant of this program. */
export function template(text: string): Template {
  const holes = text
    .split(HOLE)
    .map((part, index) => (index % 2 === 0 ? part : part === '*' ? 0 : Number(part)))
  return { holes } as unknown as Template
}

/** Fills the holes of a template. A hole without an argument is a bug of the registry. */
export function fill(from: Template, args: readonly ResolvedExpr[], type: Type): Fragment {
  const pieces: string[] = ['']
  const filled: ResolvedExpr[] = []
  for (const part of from.holes) {
    if (typeof part === 'string') {
      pieces[pieces.length - 1] += part
      continue
    }
    const chosen = part === 0 ? args : args.slice(part - 1, part)
    if (part > 0 && chosen.length === 0) throw new Error(`template wants argument ${part}`)
    for (const [index, arg] of chosen.entries()) {
      filled.push(arg)
      if (index > 0) pieces[pieces.length - 1] += ', '
      pieces.push('')
    }
  }
  return { kind: 'fragment', pieces: pieces as unknown as Pieces, args: filled, type }
}

/** Joins arguments with a separator between brackets: `(a AND b AND c)`. */
export function joinFragments(
  [before, between, after]: readonly [string, string, string],
  args: readonly ResolvedExpr[],
  type: Type,
): Fragment {
  const pieces = [before, ...args.slice(1).map(() => between), after]
  if (args.length === 0)
    return { kind: 'fragment', pieces: [before + after] as unknown as Pieces, args, type }
  return { kind: 'fragment', pieces: pieces as unknown as Pieces, args, type }
}

/** `CASE [value] WHEN a THEN x … ELSE z END`, flat however many branches there are. */
export function caseFragment(
  value: ResolvedExpr | null,
  branches: readonly (readonly [ResolvedExpr, ResolvedExpr])[],
  otherwise: ResolvedExpr,
): Fragment {
  const { type } = otherwise
  const args = [...(value === null ? [] : [value]), ...branches.flat(), otherwise]
  const pairs = branches.flatMap((_, index) => (index === 0 ? [' THEN '] : [' WHEN ', ' THEN ']))
  const start = value === null ? ['CASE WHEN '] : ['CASE ', ' WHEN ']
  const pieces = [...start, ...pairs, ' ELSE ', ' END']
  return { kind: 'fragment', pieces: pieces as unknown as Pieces, args, type }
}

/** A call of a HogQL function with a known type. */
export function applyFragment(name: string, args: readonly ResolvedExpr[], type: Type): Apply {
  return { kind: 'apply', name, params: [], args, aggregate: null, type }
}

/** A bound value of a given type. */
export function bind(value: Scalar, type: Type): ValueExpr {
  if (typeof value === 'bigint') requireInRange(value, type)
  else if (value instanceof RelativeTime) requireInRange(value.us, type)
  return { kind: 'value', value, type }
}

export function bindText(value: string): ValueExpr {
  return { kind: 'value', value, type: STRING }
}

/** An integer with the type ClickHouse gives its literal; `wide` types it Int64. */
export function bindInt(value: bigint | number, wide = false): ValueExpr {
  const integer = BigInt(value)
  return { kind: 'value', value: integer, type: wide ? INT64 : literalIntType(integer) }
}

export function bindBool(value: boolean): ValueExpr {
  return { kind: 'value', value, type: BOOL }
}

export const NULL_VALUE: ValueExpr = { kind: 'value', value: null, type: NULL }

/** One aggregate call of the engine. */
export function aggregateFragment(
  name: EngineAggregate,
  args: readonly ResolvedExpr[],
  type: Type,
  how: Partial<AggregateInput> = {},
): Aggregate {
  return {
    kind: 'aggregate',
    name,
    args,
    distinct: how.distinct ?? false,
    filter: how.filter ?? null,
    order_by: how.order_by ?? [],
    over: null,
    type,
  }
}

/** The text of a constant string expression; null for anything else. */
export function constantText(expr: ResolvedExpr | undefined): string | null {
  return expr?.kind === 'value' && typeof expr.value === 'string' ? expr.value : null
}

/** The value of a constant integer expression; null for anything else. */
export function constantInt(expr: ResolvedExpr | undefined): bigint | null {
  return expr?.kind === 'value' && typeof expr.value === 'bigint' ? expr.value : null
}

/** All conditions together; null for none, the condition itself for one. */
export function conjunction(conditions: readonly ResolvedExpr[]): ResolvedExpr | null {
  const [first = null] = conditions
  return conditions.length > 1 ? applyFragment('and', conditions, TRUTH) : first
}
