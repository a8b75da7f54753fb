/** The project's actions in the form that the compiler takes. */
import type { ActionReference } from '../../hogql/context.ts'
import { actionCondition } from '../../insights/members/actions.ts'
import type { QueryContext } from './prepared-query.ts'

/** Maps saved actions to id, name and the condition that an event matches them. */
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
