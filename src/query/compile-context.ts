/** What the compiler is told about the project that a question is about. */
import type { CompileContext } from '../hogql/context.ts'
import { knownActions } from './known-actions.ts'
import type { Asking } from './prepared.ts'

/** Everything but the placeholders and limits of one question. Actions are read when a question names one. */
export function compileContext(asking: Asking, now: Date): CompileContext {
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
    ...(asking.resources === undefined ? {} : { resources: asking.resources }),
  }
}
