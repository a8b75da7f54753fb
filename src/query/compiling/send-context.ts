/** QueryContext → SentContext: copies the definitions that one compilation may read, to send them to the compile thread. */

import { ACTION_WORD, namesCohorts } from '../../hogql/syntax/named-words.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'
import type { SentContext } from './compile-job.ts'

/** Copies the parts of a context that a query of these words may read. */
export function sendContext(words: ReadonlySet<string>, context: QueryContext): SentContext {
  const { id, timezone, week_start_day, hidden_tables } = context.project
  return {
    project: { id, timezone, week_start_day, hidden_tables },
    property_types: context.property_types,
    clickhouse: context.clickhouse ?? null,
    group_types: context.group_types ?? new Map(),
    cohorts: namesCohorts(words) ? (context.cohorts?.() ?? []) : [],
    actions: words.has(ACTION_WORD) ? (context.actions?.() ?? []) : [],
    rows_max: context.rows_max,
  }
}
