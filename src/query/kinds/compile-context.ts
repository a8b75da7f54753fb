/** What the compiler is told about the project that a query is about. */
import type { CompileContext } from '../../hogql/context.ts'
import { findActions } from './action-lookup.ts'
import type { QueryContext } from './prepared-query.ts'

/** What one query brings along; one that names no actions says so, and none are read. */
type QueryParts = Pick<CompileContext, 'actions' | 'budget' | 'limits' | 'values'>

/** Actions are read when somebody looks at them. */
export function compileContext(context: QueryContext, now: Date, more: QueryParts): CompileContext {
  const { project, property_types, property_columns = new Map(), cohorts = [] } = context
  return {
    project_id: project.id,
    timezone: project.timezone,
    week_start_day: project.week_start_day === 1 ? 1 : 0,
    now_us: BigInt(now.getTime()) * 1000n,
    property_types,
    property_columns,
    cohorts,
    get actions() {
      return findActions(context, now)
    },
    hidden_tables: project.hidden_tables ?? [],
    ...(context.resources === undefined ? {} : { resources: context.resources }),
    ...more,
  }
}
