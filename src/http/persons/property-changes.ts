/** Changes the properties of persons and groups through the API: each change is sent as an event. */
import { Refusal } from '../../errors.ts'
import { CAPTURE_LIMITS } from '../../ingest/threads/messages.ts'
import { type ActivityChange, changesBetween } from '../../projects/activity.ts'
import type { Project } from '../../projects/settings/project.ts'
import type { AppContext } from '../app-context.ts'

export type SentProperties = Readonly<Record<string, unknown>>

/** Properties before and after a change. */
type Change = { readonly before: SentProperties; readonly after: SentProperties }

/** Refuses, naming `attr`, properties that could not be stored: ingestion would only write a warning. */
export function requireRoom(
  noun: 'group' | 'person',
  { before, after }: Change,
  attr: string,
): void {
  const { person_bytes_max, person_properties_max } = CAPTURE_LIMITS
  const count_max = Math.max(person_properties_max, Object.keys(before).length)
  if (Object.keys(after).length > count_max) {
    const detail = `A ${noun} holds at most ${person_properties_max} properties.`
    throw new Refusal('invalid_input', detail, { attr })
  }
  if (Buffer.byteLength(JSON.stringify(after)) > person_bytes_max) {
    const detail = `A ${noun} holds at most ${person_bytes_max} bytes of properties.`
    throw new Refusal('invalid_input', detail, { attr })
  }
}

/** Sends an event the way SDKs do, and waits until it is stored. Refuses what capture refuses. */
export async function sendOwnEvent(
  app: AppContext,
  project: Project,
  sent: {
    readonly event: string
    readonly distinct_id: string
    readonly properties: SentProperties
  },
): Promise<void> {
  // The caller's location is not the person's.
  const input = { ...sent, properties: { ...sent.properties, $geoip_disable: true } }
  const answer = await app.capture.send({
    path: '/capture',
    query: '',
    content_type: 'application/json',
    content_encoding: '',
    client_ip: '',
    received_at_ms: app.now().getTime(),
    body: new TextEncoder().encode(JSON.stringify({ api_key: project.api_token, ...input })),
  })
  if (answer.kind === 'refused') {
    throw new Refusal(answer.code, answer.detail, { attr: answer.attr })
  }
}

/** The refusal of a change that could not be written; the client may repeat it. */
export const storageUnavailable = (): Refusal =>
  new Refusal('storage_unavailable', 'Unable to store the change. Please try again.')

/** The properties without those of these names. */
export function withoutKeys(properties: SentProperties, keys: readonly string[]): SentProperties {
  const without = new Set(keys)
  return Object.fromEntries(Object.entries(properties).filter(([key]) => !without.has(key)))
}

/** The changed properties, for the activity log. */
export function propertyChanges(
  scope: 'Group' | 'Person',
  before: SentProperties,
  after: SentProperties,
): readonly ActivityChange[] {
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  const all = { ...after, ...Object.fromEntries(gone.map((key) => [key, null])) }
  return changesBetween(scope, before, all)
}
