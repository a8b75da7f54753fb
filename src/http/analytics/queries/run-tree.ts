/** Runs queries that routes build as trees. */

import type { Select } from '../../../hogql/syntax/ast.ts'
import { rightsAt } from '../../../projects/rights/rights.ts'
import { prepareTree } from '../../../query/kinds/compile-tree.ts'
import type { QueryContext } from '../../../query/kinds/prepared-query.ts'
import { parseRows } from '../../../threads/sliced-json.ts'
import type { AppContext } from '../../app-context.ts'
import { answerForCaller, callerOf, projectContext, type QueryCall } from './query-context.ts'

type TreeRows = {
  readonly rows: readonly (readonly unknown[])[]
  readonly has_more: boolean
}

/** The query context of a call: the project's catalog, without the tables hidden from the caller. */
function contextOf(app: AppContext, { caller, project, level }: QueryCall): QueryContext {
  const rights = rightsAt(app.control, caller, { project, level })
  return projectContext(app, { ...project, ...callerOf(caller, rights) })
}

const NO_ROWS = Buffer.from('[]')

/**
 * Runs a query tree and returns its rows. It is never answered from the cache, so that it includes all events
 * stored before. Refuses what the engine refuses, and `throttled` beyond the key's limits. The client's
 * disconnect cancels it. `overrides` may read properties with other types than the project's, and have the
 * actions that the tree names.
 */
export async function runTree(
  app: AppContext,
  call: QueryCall,
  name: string,
  tree: Select,
  overrides: Partial<Pick<QueryContext, 'actions' | 'property_types'>> = {},
): Promise<TreeRows> {
  const { results, members } = await answerForCaller(app, call, () =>
    prepareTree(name, tree, { ...contextOf(app, call), ...overrides }),
  )
  const { has_more }: { has_more: boolean } = JSON.parse(members)
  return { rows: await parseRows(results ?? NO_ROWS), has_more }
}
