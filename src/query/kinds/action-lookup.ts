/** The project's actions, as the compiler takes them. */
import type { ActionReference } from '../../hogql/context.ts'
import { actionCondition } from '../../insights/actions.ts'
import type { QueryContext } from './prepared-query.ts'

/** Actions by id and name, each with the condition that an event is one. */
export function findActions(context: QueryContext, now: Date): readonly ActionReference[] {
  const { project, property_types, actions = [] } = context
  return actions.map((action) => ({
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
