/** The oldest shape of a cohort's conditions: groups, of which any must hold, as filters in today's shape. */

import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'

/** Days that an event of a group goes back by default. */
const DAYS_DEFAULT = 365

/** Converts groups of properties, or of an event and how often it was seen. Refuses other groups. */
export function filtersOfGroups(groups: readonly unknown[]): object {
  return { properties: { type: 'OR', values: groups.map(conditionsOf) } }
}

function conditionsOf(group: unknown): object {
  if (!isObject(group)) throw refusal()
  const { properties, event_id, action_id } = group
  if (event_id || action_id) return { type: 'AND', values: [behaviorOf(group)] }
  return propertiesOf(properties ?? [])
}

/** A list of filters, a tree of them, or a map of values by key: `{"plan": "pro", "age__gt": 5}`. */
function propertiesOf(properties: unknown): object {
  if (Array.isArray(properties)) return { type: 'AND', values: properties }
  if (!isObject(properties)) throw refusal()
  if (Array.isArray(properties['values'])) return properties
  if ('key' in properties && 'value' in properties) return { type: 'AND', values: [properties] }
  const values = Object.entries(properties).map(([name, value]) => {
    const [key = '', operator = 'exact'] = name.split('__', 2)
    return { type: 'person', key, operator, value }
  })
  return { type: 'AND', values }
}

/** `{event_id, days, count, count_operator}`: an event or action of the last days, at least once or `count` times. */
function behaviorOf(group: Readonly<Record<string, unknown>>): object {
  const { event_id, action_id, days, count, count_operator } = group
  return {
    type: 'behavioral',
    key: action_id ? action_id : event_id,
    event_type: action_id ? 'actions' : 'events',
    value: count ? 'performed_event_multiple' : 'performed_event',
    time_value: days ? days : DAYS_DEFAULT,
    time_interval: 'day',
    ...(count ? { operator: count_operator ?? 'eq', operator_value: count } : {}),
  }
}

function refusal(): Refusal {
  const detail = 'A group needs properties, or an event or an action.'
  return new Refusal('invalid_input', detail, { attr: 'groups' })
}
