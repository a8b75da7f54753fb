/** Prepares queries that code builds as trees (lists) for the query service. */

import { printHogQL } from '../../hogql/print-hogql/print-hogql.ts'
import type { Select } from '../../hogql/syntax/ast.ts'
import { compileTree } from '../compiling/compiler.ts'
import { cacheKey } from '../service/cache-key.ts'
import { workerQuery } from './hogql.ts'
import type { PreparedQuery, QueryContext } from './prepared-query.ts'

/** Prepares a tree. `name` is part of the cache key; the answer is rows, with `has_more` in the head. */
export function prepareTree(name: string, tree: Select, context: QueryContext): PreparedQuery {
  return {
    project_id: context.project.id,
    caller: context.project.caller ?? '',
    cache_key: cacheKey(context.project, name, [printHogQL(tree), context.rows_max]),
    freshness: { interval: 'minute', ends_at_ms: null },
    labels: [name],
    echo: {},
    compute: async (run, now) => {
      const compiled = await compileTree(tree, context, now)
      const { rows_json, has_more } = await run(workerQuery(compiled, context))
      return {
        head: JSON.stringify({ has_more }),
        results: rows_json,
        last_refresh_ms: now.getTime(),
        ends_at_ms: null,
      }
    },
    buildExport: null,
  }
}
