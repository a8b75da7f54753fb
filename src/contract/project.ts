/** Which members of a project go over the wire. Interface §2.2. */

/** What list items are reduced to; the order is that of the answer. */
export const PROJECT_LIST_MEMBERS = [
  'id',
  'uuid',
  'organization',
  'api_token',
  'name',
  'completed_snippet_onboarding',
  'has_completed_onboarding_for',
  'ingested_event',
  'is_demo',
  'timezone',
  'access_control',
] as const
