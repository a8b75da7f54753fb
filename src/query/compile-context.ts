/** What the compiler is told about the project that a question is about. */
import type { CompileContext } from '../hogql/context.ts'
import { knownActions } from './known-actions.ts'
import type { Asking } from './prepared.ts'

/** What one question brings along; one that names no actions says so, and none are read. */
type OfQuestion = Pick<CompileContext, 'actions' | 'budget' | 'limits' | 'values'>

/** Actions are read when somebody looks at them. */
export function compileContext(asking: Asking, now: Date, more: OfQuestion): CompileContext {
  const { project, property_types, property_columns = new Map(), cohorts = [] } = asking
  return {
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
    hidden_tables: project.hidden_tables ?? [],
    ...(asking.resources === undefined ? {} : { resources: asking.resources }),
    ...more,
  }
}
