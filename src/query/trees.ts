/** Questions that code writes as trees, made ready to ask like any other. */
import type { Select } from '../hogql/ast.ts'
import { type CompiledQuery, compileSelect } from '../hogql/compile.ts'
import { printHogQL } from '../hogql/print-hogql.ts'
import { cacheKey } from './keys.ts'
import { sentQuestion } from './kinds/hogql.ts'
import { knownActions } from './known-actions.ts'
import type { Asking, Prepared } from './prepared.ts'

/** Makes a tree ready. `name` tells kinds of trees apart; their answers are rows, with `has_more` in the head. */
export function prepareTree(name: string, tree: Select, asking: Asking): Prepared {
  return {
    project_id: asking.project.id,
    cache_key: cacheKey(asking.project, name, [printHogQL(tree), asking.rows_max]),
    freshness: { interval: 'minute', ends_at_ms: null },
    labels: [name],
    said: {},
    compute: async (ask, now) => {
      const compiled = compileTree(tree, asking, now)
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

/** Compiles a tree for a project. Without a LIMIT of its own it answers as many rows as any answer may have. */
export function compileTree(tree: Select, asking: Asking, now: Date): CompiledQuery {
  const { project, property_types, property_columns = new Map(), cohorts = [] } = asking
  const { rows_max } = asking
  return compileSelect(tree, {
    project_id: project.id,
    timezone: project.timezone,
    week_start_day: project.week_start_day === 1 ? 1 : 0,
    now_us: BigInt(now.getTime()) * 1000n,
    property_types,
    property_columns,
    cohorts,
    get actions() {
      return knownActions(asking, now)
    },
    limits: { rows_default: rows_max, rows_max },
    ...(asking.resources === undefined ? {} : { resources: asking.resources }),
  })
}
