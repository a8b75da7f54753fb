/** REST hooks: an address gets every event that is an action. Their bodies are those that Zapier's app reads. */
import { formatUuid } from '../uuid.ts'
import type { PluginConfig } from './plugin-config.ts'

/** An event of the log. */
export type DestinationEvent = {
  readonly seq: number
  readonly uuid: Uint8Array
  readonly event: string
  readonly distinct_id: string
  readonly person_id: Uint8Array
  readonly timestamp: number
  readonly properties: string
}

/** The members of an event by which the query finds whether it is an action. */
export type HookEvent = {
  readonly uuid: string
  readonly event: string
  readonly timestamp_ms: number
}

/** The person of an event that is the action. */
export type HookPerson = { readonly uuid: string; readonly properties: unknown }

/** The only event of hooks. */
export const HOOK_EVENT = 'action_performed'

/** The settings of a hook. */
export function hookSettings({ config }: PluginConfig): {
  readonly url: string
  readonly action: number
} {
  return config as { readonly url: string; readonly action: number }
}

/** The part of an event by which it is found to be an action. */
export function hookEventOf({ uuid, event, timestamp }: DestinationEvent): HookEvent {
  return { uuid: formatUuid(uuid), event, timestamp_ms: timestamp / 1000 }
}

/** The body of one event. */
export function hookBody(
  hook: PluginConfig,
  { uuid, event, distinct_id, timestamp, properties }: DestinationEvent,
  person: HookPerson,
): object {
  return {
    hook: { id: String(hook.id), event: HOOK_EVENT, target: hookSettings(hook).url },
    data: {
      eventUuid: formatUuid(uuid),
      event,
      teamId: hook.project_id,
      distinctId: distinct_id,
      timestamp: new Date(timestamp / 1000).toISOString(),
      properties: JSON.parse(properties) as unknown,
      person,
    },
  }
}
