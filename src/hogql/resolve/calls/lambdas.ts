/** Lambdas: parameters are typed by the function that takes the lambda, then the body is resolved. */

import type { LocalExpr, ResolvedLambda } from '../../sql/ir.ts'
import type * as ast from '../../syntax/ast.ts'
import { type Type, UNKNOWN } from '../../types/types.ts'
import { innerScope, type NameScope, type Resolver } from '../scope.ts'

/** Resolves a lambda whose parameters have the given types, in order. */
export function resolveLambda(
  node: ast.Lambda,
  types: readonly Type[],
  { scope, resolver }: { readonly scope: NameScope; readonly resolver: Resolver },
): ResolvedLambda {
  const locals = new Map<string, LocalExpr>()
  for (const [index, name] of node.args.entries()) {
    resolver.next.local += 1
    locals.set(name, { kind: 'local', id: resolver.next.local, type: types[index] ?? UNKNOWN })
  }
  const body = resolver.expr(node.expr, innerScope(scope, { locals, unnests: scope.unnests }))
  return {
    kind: 'lambda',
    locals: [...locals.values()],
    body,
    type: { kind: 'lambda', returns: body.type, nullable: false },
  }
}
