/** Scopes of keys: `<object>:<read|write>`, where write implies read, or `*` for everything. */
import { Refusal } from '../../errors.ts'

/** The objects of scopes. */
export const OBJECTS = [
  'action',
  'activity_log',
  'alert',
  'annotation',
  'batch_export',
  'cohort',
  'dashboard',
  'dashboard_template',
  'early_access_feature',
  'event_definition',
  'experiment',
  'export',
  'feature_flag',
  'group',
  'insight',
  'notebook',
  'organization',
  'organization_member',
  'person',
  'plugin',
  'project',
  'property_definition',
  'query',
  'session_recording',
  'session_recording_playlist',
  'sharing_configuration',
  'subscription',
  'survey',
  'user',
  'webhook',
] as const

/** An object of scopes and levels, by the API's name. */
export type Resource = (typeof OBJECTS)[number]

/** The scope that a route needs. */
export type Scope = `${Resource}:${'read' | 'write'}`

/** The scopes of a key. */
export type Scopes = readonly (Scope | '*')[]

const SCOPES: ReadonlySet<string> = new Set([
  '*',
  ...OBJECTS.flatMap((object) => [`${object}:read`, `${object}:write`]),
])

/** Whether scopes include `scope`. */
export function allows(scopes: Scopes, scope: Scope): boolean {
  if (scopes.includes('*') || scopes.includes(scope)) return true
  const [object, action] = scope.split(':')
  return action === 'read' && scopes.some((held) => held === `${object}:write`)
}

/** The refusal of a key that lacks a scope; null if it has it. */
export function refusalByScopes(scopes: Scopes, scope: Scope): Refusal | null {
  if (allows(scopes, scope)) return null
  return new Refusal('permission_denied', `API key missing required scope '${scope}'`)
}

/** Parses scopes. Refuses an empty list and unknown scopes. */
export function parseScopes(texts: readonly string[]): Scopes {
  const scopes = [...new Set(texts)]
  if (scopes.length === 0) throw new Refusal('required', 'A key needs a scope.', { attr: 'scopes' })
  const unknown = scopes.find((scope) => !SCOPES.has(scope))
  if (unknown !== undefined) {
    throw new Refusal('invalid_input', `Invalid scope: ${unknown}`, { attr: 'scopes' })
  }
  return scopes.filter(isScope)
}

function isScope(text: string): text is Scope | '*' {
  return SCOPES.has(text)
}
