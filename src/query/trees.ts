/** Questions that code writes as trees, made ready to ask like any other. */
import type { Select } from '../hogql/ast.ts'
import { printHogQL } from '../hogql/print-hogql.ts'
import { compileTree } from './compiling/compiler.ts'
import { cacheKey } from './keys.ts'
import { sentQuestion } from './kinds/hogql.ts'
import type { Asking, Prepared } from './prepared.ts'

/** Makes a tree ready. `name` tells kinds of trees apart; their answers are rows, with `has_more` in the head. */
export function prepareTree(name: string, tree: Select, asking: Asking): Prepared {
  return {
    project_id: asking.project.id,
    caller: asking.project.caller ?? '',
    cache_key: cacheKey(asking.project, name, [printHogQL(tree), asking.rows_max]),
    freshness: { interval: 'minute', ends_at_ms: null },
    labels: [name],
    said: {},
    compute: async (ask, now) => {
      const compiled = await compileTree(tree, asking, now)
      const { rows_json, has_more } = await ask(sentQuestion(compiled, asking))
      return {
        head: JSON.stringify({ has_more }),
        results: rows_json,
        last_refresh_ms: now.getTime(),
      }
    },
    sentInParts: null,
  }
}
