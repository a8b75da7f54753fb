/** Casts: the conversion a type name asks for. */

import type * as ast from '../ast.ts'
import type { Expr } from '../ir.ts'
import { applied } from '../spell.ts'
import { typeNamed, typeNames } from '../type-names.ts'
import { isText, withNull } from '../types.ts'
import { meant, refuse } from './refuse.ts'
import type { Resolver, Scope } from './scope.ts'

/** Resolves `CAST(x AS T)`, `x::T` and `TRY_CAST(x AS T)`: what cannot be turned is NULL. */
export function resolveCast(
  node: ast.TryCast | ast.TypeCast,
  scope: Scope,
  resolver: Resolver,
): Expr {
  const value = resolver.expr(node.expr, scope)
  const type = typeNamed(node.type_name, resolver.context)
  if (type === null)
    throw refuse(`Unknown type: ${node.type_name}${meant(node.type_name, typeNames())}`, node)
  const nullable = type.nullable || value.type.nullable || isText(value.type)
  return applied('asType', [value], withNull(type, nullable))
}
