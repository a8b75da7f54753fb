/** Macros: functions defined in HogQL itself; a call is replaced by an expression over its arguments. */

import { memoizeValue } from '../../../memoize.ts'
import { type Arity, readArity } from '../../functions/definition.ts'
import { parseExpr } from '../../parser/parser.ts'
import type * as ast from '../../syntax/ast.ts'
import { NOWHERE } from '../../syntax/nodes.ts'
import { mapExpr } from '../../syntax/walk.ts'
import type { Resolver } from '../scope.ts'
import { actionCondition } from './actions.ts'
import { requireArity } from './arity.ts'
import { BOT_CALLS } from './bots.ts'
import { CHANNEL_CALLS } from './channel-calls.ts'
import { surveyResponse, uniqueSubmissions } from './surveys.ts'

/**
 * The definition of a macro: a HogQL text with holes `{a}`, `{b}` … for the arguments in order, or
 * a function.
 */
type MacroBody = string | ((node: ast.Call, resolver: Resolver) => ast.Expr)

/** Names (first the canonical one), arity, definition. Adding a macro means adding a line. */
const MACROS: readonly (readonly [names: string, arity: string, body: MacroBody])[] = [
  ...BOT_CALLS.map(([name, arity, print]) => [name, arity, fillHoles(print)] as const),
  ...CHANNEL_CALLS,
  [
    'make_interval',
    '6',
    `toIntervalYear({a}) + toIntervalMonth({b}) + toIntervalDay({c}) + toIntervalHour({d})
      + toIntervalMinute({e}) + toIntervalSecond({f})`,
  ],
  [
    'explainCSPReport|explain_csp_report',
    '1',
    "tuple('__hx_tag', 'ExplainCSPReport', 'properties', {a})",
  ],
  ['getSurveyResponse', '1-3', surveyResponse],
  ['uniqueSurveySubmissionsFilter', '1-3', uniqueSubmissions],
  ['matchesAction', '1', (node, { context }) => actionCondition(node, context)],
]

type MacroDefinition = {
  readonly args: Arity
  readonly expand: (node: ast.Call, at: Resolver) => ast.Expr
}

const BY_NAME = new Map<string, MacroDefinition>(
  MACROS.flatMap(([names, arity, body]) => {
    const macro: MacroDefinition = {
      args: readArity(arity),
      expand: typeof body === 'string' ? fillHoles(() => body) : body,
    }
    return names.split('|').map((name): [string, MacroDefinition] => [name, macro])
  }),
)

/** Names of all macros, for "did you mean" and for lists of functions. */
export function macroNames(): Iterable<string> {
  return BY_NAME.keys()
}

/** Expands a macro call; null for any other call. Refuses a wrong number of arguments. */
export function expandMacro(node: ast.Call, resolver: Resolver): ast.Expr | null {
  const macro = BY_NAME.get(node.name)
  if (macro === undefined) return null
  requireArity({ args: macro.args, role: 'scalar' }, node, node.args.length)
  return macro.expand(node, resolver)
}

/** Parses the definition at the first call: all of them took a twentieth of a server's start. */
function fillHoles(print: () => string): (node: ast.Call) => ast.Expr {
  const tree = memoizeValue(() => parseExpr(print()))
  return (node) =>
    mapExpr(tree(), (inner) => {
      if (inner.kind !== 'Placeholder' || inner.expr.kind !== 'Field') return inner
      const index = (inner.expr.chain[0] ?? 'a').charCodeAt(0) - 'a'.charCodeAt(0)
      return node.args[index] ?? { kind: 'Constant', value: null, ...NOWHERE }
    })
}
