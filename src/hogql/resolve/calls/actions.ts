/** `matchesAction(…)`: the condition of one of the project's actions, by id or name. */

import type { ActionReference, CompileContext } from '../../context.ts'
import type * as ast from '../../syntax/ast.ts'
import { refuse, suggestName } from '../refusals.ts'

/** Expands a call to the condition of its action. Refuses actions that do not exist. */
export function actionCondition(node: ast.Call, context: CompileContext): ast.Expr {
  return actionNamed(node, context).condition([])
}

function actionNamed(node: ast.Call, { actions, hidden_tables }: CompileContext): ActionReference {
  const [named] = node.args
  const value = named?.kind === 'Constant' ? named.value : null
  if (typeof value !== 'bigint' && typeof value !== 'string') {
    throw refuse('matchesAction needs the id or the name of an action as a constant', node)
  }
  const all = actions?.() ?? []
  const matches = all.filter((action) =>
    typeof value === 'bigint' ? BigInt(action.id) === value : action.name === value,
  )
  const [only] = matches
  if (matches.length > 1) throw refuse(`Found multiple actions with name '${value}'`, node)
  if (only !== undefined) return only
  if (typeof value === 'bigint') throw refuse(`Could not find action with ID ${value}`, node)
  const is_hidden = hidden_tables.includes('system.actions')
  const names = is_hidden ? [] : all.map((action) => action.name)
  const hint = suggestName(value, names)
  throw refuse(`Could not find an action with the name '${value}'${hint}`, node)
}
