/** Editable fields of a project, with the rules that a schema cannot express. */

import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import { parseName } from '../names.ts'
import type { Json, projects } from '../tables.ts'

type ProjectRow = typeof projects.$inferSelect

/** The fields that a caller may set. */
export type ProjectFields = Partial<
  Omit<
    ProjectRow,
    'api_token' | 'created_at' | 'id' | 'ingested_event' | 'organization_id' | 'updated_at' | 'uuid'
  >
>

/** Sent fields, of the right types, otherwise unchecked. */
export type SentFields = Readonly<Record<string, Json>>

type FieldCheck = (value: Json, field: string, before: Json) => Json

const NAME_LENGTH_MAX = 200
const JSON_LENGTH_MAX = 100_000
const ERRORS_TO_IGNORE_LENGTH_MAX = 300
const MINIMUM_DURATION_MS_MAX = 30_000
const REPLAY_KEYS: ReadonlySet<string> = new Set(['record_canvas', 'ai_config'])
const REPLAY_AI_KEYS = [
  'opt_in',
  'preferred_events',
  'excluded_events',
  'important_user_properties',
]

/** Parsers of fields with rules; other fields are stored as sent. */
const CHECKS: Readonly<Record<string, FieldCheck>> = {
  name: (value) => parseName(textOf(value), NAME_LENGTH_MAX),
  timezone: requireTimezone,
  test_account_filters: (value) => value ?? [],
  autocapture_exceptions_errors_to_ignore: requireErrorsToIgnore,
  session_recording_sample_rate: parseSampleRate,
  session_recording_minimum_duration_milliseconds: requireDuration,
  session_recording_linked_flag: requireLinkedFlag,
  session_recording_network_payload_capture_config: requirePayloadConfig,
  session_replay_config: mergeReplayConfig,
  recording_domains: requireDomains,
  week_start_day: requireWeekStart,
}

/** Every field that may be set; others are ignored. */
const SETTABLE = [
  'name',
  'product_description',
  'app_urls',
  'slack_incoming_webhook',
  'anonymize_ips',
  'completed_snippet_onboarding',
  'test_account_filters',
  'test_account_filters_default_checked',
  'path_cleaning_filters',
  'is_demo',
  'timezone',
  'data_attributes',
  'person_display_name_properties',
  'correlation_config',
  'autocapture_opt_out',
  'autocapture_exceptions_opt_in',
  'autocapture_web_vitals_opt_in',
  'autocapture_web_vitals_allowed_metrics',
  'autocapture_exceptions_errors_to_ignore',
  'capture_console_log_opt_in',
  'capture_performance_opt_in',
  'session_recording_opt_in',
  'session_recording_sample_rate',
  'session_recording_minimum_duration_milliseconds',
  'session_recording_linked_flag',
  'session_recording_network_payload_capture_config',
  'session_replay_config',
  'survey_config',
  'access_control',
  'week_start_day',
  'primary_dashboard',
  'live_events_columns',
  'recording_domains',
  'inject_web_apps',
  'extra_settings',
  'modifiers',
  'has_completed_onboarding_for',
  'surveys_opt_in',
  'heatmaps_opt_in',
  'flags_persistence_default',
  'cookieless_server_hash_mode',
] as const satisfies readonly (keyof ProjectFields)[]

/** Parses the sent fields. Refuses the first invalid one. `before` are the stored fields. */
export function parseProjectFields(
  sent: SentFields,
  before: Readonly<Record<string, unknown>>,
): ProjectFields {
  const fields: Record<string, Json> = {}
  for (const field of SETTABLE) {
    const value = sent[field]
    if (value === undefined) continue
    if (JSON.stringify(value).length > JSON_LENGTH_MAX) {
      const detail = `Ensure this field has no more than ${JSON_LENGTH_MAX} characters.`
      throw new Refusal('max_length', detail, { attr: field })
    }
    const check = CHECKS[field]
    fields[field] = check ? check(value, field, (before[field] ?? null) as Json) : value
  }
  return fields
}

function refuse(attr: string, detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}

/** Parses the name of a time zone, in the spelling of the database. Refuses offsets, which `Intl` accepts too. */
function requireTimezone(value: Json, attr: string): Json {
  const name = textOf(value)
  if (/^[A-Za-z]/.test(name) && resolvedZone(name) === name) return name
  const detail = `${JSON.stringify(name.slice(0, 100))} is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr })
}

function resolvedZone(name: string): string | null {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return null
  }
}

function requireErrorsToIgnore(value: Json, attr: string): Json {
  if (value === null) return null
  if (!Array.isArray(value)) throw refuse(attr, 'Must provide a list.')
  if (value.some((item) => typeof item !== 'string')) {
    throw refuse(attr, 'All items in the list must be strings.')
  }
  if (JSON.stringify(value).length > ERRORS_TO_IGNORE_LENGTH_MAX) {
    throw refuse(attr, 'List must be less than 300 characters in size.')
  }
  return value
}

/** Formats a number as text with two decimals, the form that clients read. */
function parseSampleRate(value: Json, attr: string): Json {
  if (value === null) return null
  const text = textOf(value).trim()
  if (!/^\d{1,6}(\.\d{1,2})?$/.test(text)) throw refuse(attr, 'A valid number is required.')
  if (Number(text) > 1) {
    throw new Refusal('max_value', 'Ensure this value is less than or equal to 1.', { attr })
  }
  return Number(text).toFixed(2)
}

function requireDuration(value: Json, attr: string): Json {
  if (value === null || typeof value !== 'number') return null
  if (value < 0) {
    throw new Refusal('min_value', 'Ensure this value is greater than or equal to 0.', { attr })
  }
  if (value > MINIMUM_DURATION_MS_MAX) {
    const detail = `Ensure this value is less than or equal to ${MINIMUM_DURATION_MS_MAX}.`
    throw new Refusal('max_value', detail, { attr })
  }
  return value
}

function requireLinkedFlag(value: Json, attr: string): Json {
  if (value === null) return null
  const keys = keysOf(value, attr)
  const is_known = keys.every((key) => ['id', 'key', 'variant'].includes(key))
  if (is_known && keys.includes('id') && keys.includes('key')) return value
  throw refuse(
    attr,
    "Must provide a dictionary with only 'id' and 'key' keys. _or_ only 'id', 'key', and 'variant' keys.",
  )
}

function requirePayloadConfig(value: Json, attr: string): Json {
  if (value === null) return null
  if (keysOf(value, attr).every((key) => ['recordHeaders', 'recordBody'].includes(key))) {
    return value
  }
  throw refuse(
    attr,
    "Must provide a dictionary with only 'recordHeaders' and/or 'recordBody' keys.",
  )
}

/** Merges sent members into the stored object, two levels deep; null deletes all. */
function mergeReplayConfig(value: Json, attr: string, before: Json): Json {
  if (value === null) return null
  if (!keysOf(value, attr).every((key) => REPLAY_KEYS.has(key))) {
    const names = "'record_canvas' and 'ai_config'"
    throw refuse(attr, `Must provide a dictionary with only allowed keys: ${names}.`)
  }
  const sent = value as Readonly<Record<string, Json>>
  const stored = isObject(before) ? before : {}
  const ai_config = sent['ai_config']
  if (ai_config === undefined || ai_config === null) return { ...stored, ...sent }
  if (!keysOf(ai_config, attr).every((key) => REPLAY_AI_KEYS.includes(key))) {
    const names = REPLAY_AI_KEYS.map((key) => `'${key}'`).join(', ')
    throw refuse(attr, `Must provide an 'ai_config' with only allowed keys: ${names}.`)
  }
  const stored_ai = isObject(stored['ai_config']) ? stored['ai_config'] : {}
  return { ...stored, ...sent, ai_config: { ...stored_ai, ...(ai_config as object) } }
}

function requireDomains(value: Json, attr: string): Json {
  if (!Array.isArray(value)) return null
  for (const item of value as readonly string[]) {
    const url = URL.canParse(item.replace('*.', '')) ? new URL(item.replace('*.', '')) : null
    // Apps in a web view have a scheme of their own, whose addresses have no path: capacitor://localhost.
    const path = url !== null && /^https?:$/.test(url.protocol) ? '/' : ''
    const is_origin = url !== null && url.host !== '' && url.pathname === path
    if (is_origin && url.search === '' && url.hash === '') continue
    throw refuse(attr, `${JSON.stringify(item.slice(0, 100))} is not a valid domain.`)
  }
  return value
}

function requireWeekStart(value: Json, attr: string): Json {
  if (value === null || value === 0 || value === 1) return value
  const detail = `${JSON.stringify(value)} is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr })
}

/** Converts text and numbers to text; the schema refuses everything else. */
function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function keysOf(value: Json, attr: string): readonly string[] {
  if (isObject(value)) return Object.keys(value)
  throw refuse(attr, 'Must provide a dictionary or None.')
}
