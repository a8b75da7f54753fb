/** The project's actions, as the compiler takes them. */
import type { KnownAction } from '../hogql/context.ts'
import { actionCondition } from '../insights/actions.ts'
import type { Asking } from './prepared.ts'

/** Actions by id and name, each with the condition that an event is one. */
export function knownActions(asking: Asking, now: Date): readonly KnownAction[] {
  const { project, property_types, actions = [] } = asking
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
