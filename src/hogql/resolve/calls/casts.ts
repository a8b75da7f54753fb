/** Casts: the conversion a type name asks for. */

import type { ResolvedExpr } from '../../sql/ir.ts'
import { applyFragment } from '../../sql/sql-fragments.ts'
import type * as ast from '../../syntax/ast.ts'
import { mayNotFit } from '../../types/convert.ts'
import { findType, typeNames } from '../../types/type-names.ts'
import { isText, withNull } from '../../types/types.ts'
import { refuse, suggestName } from '../refusals.ts'
import type { NameScope, Resolver } from '../scope.ts'

/** Resolves `CAST(x AS T)`, `x::T` and `TRY_CAST(x AS T)`: a value that cannot be converted is NULL. */
export function resolveCast(
  node: ast.TryCast | ast.TypeCast,
  scope: NameScope,
  resolver: Resolver,
): ResolvedExpr {
  const value = resolver.expr(node.expr, scope)
  const type = findType(node.type_name, resolver.context)
  if (type === null)
    throw refuse(`Unknown type: ${node.type_name}${suggestName(node.type_name, typeNames())}`, node)
  const nullable =
    type.nullable || value.type.nullable || isText(value.type) || mayNotFit(value, type)
  return applyFragment('asType', [value], withNull(type, nullable))
}
