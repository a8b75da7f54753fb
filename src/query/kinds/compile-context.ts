/** Builds the compiler's context from the project of a query. */

import type { ActionReference, CompileContext } from '../../hogql/context.ts'
import { actionCondition } from '../../insights/members/actions.ts'
import { memoizeValue } from '../../memoize.ts'
import type { QueryContext } from './prepared-query.ts'

/** The inputs of one query. */
type QueryInputs = Pick<CompileContext, 'budget' | 'limits' | 'resources' | 'values'>

/** Builds the context. Definitions are read when the query names one. */
export function compileContext(
  context: QueryContext,
  now: Date,
  more: QueryInputs,
): CompileContext {
  // Getters among these read events.db, so each is read once.
  const { project, property_types, group_types, cohorts, clickhouse = null } = context
  return {
    project_id: project.id,
    timezone: project.timezone,
    week_start_day: project.week_start_day === 1 ? 1 : 0,
    now_us: BigInt(now.getTime()) * 1000n,
    property_types,
    has_property_columns: clickhouse === null,
    clickhouse,
    ...(group_types === undefined ? {} : { group_types }),
    ...(cohorts === undefined ? {} : { cohorts }),
    actions: memoizeValue(() => findActions(context, now)),
    hidden_tables: project.hidden_tables,
    ...more,
  }
}

/** Maps saved actions to id, name and the condition that an event matches them. */
function findActions(context: QueryContext, now: Date): readonly ActionReference[] {
  const { project, property_types } = context
  return (context.actions?.() ?? []).map((action) => ({
    id: action.id,
    name: action.name,
    condition: (prefix) =>
      actionCondition(action, {
        timezone: project.timezone,
        now,
        property_types,
        prefix,
        attr: 'query',
      }),
  }))
}
