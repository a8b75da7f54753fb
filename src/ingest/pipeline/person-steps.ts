/** Steps that read an event's claims about its person and groups: updates, merges, group keys. */

import { KIB } from '../../bytes.ts'
import { automaticOf } from '../../identity/automatic-properties.ts'
import { isObject } from '../../json.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'
import { US_PER_MS } from '../../time.ts'
import type { DropReason } from '../notes/counters.ts'
import type { Warning } from '../notes/warnings.ts'
import type { CaptureLimits } from '../threads/messages.ts'
import type { PreparedEvent } from '../threads/prepared-request.ts'
import { addWarning, type EventDraft } from './event-draft.ts'
import { cutText, propertyText } from './text.ts'

/** Events that never change a person's properties. */
const WITHOUT_UPDATE: ReadonlySet<string> = new Set([
  '$exception',
  '$$heatmap',
  '$groupidentify',
  '$group_identify',
  '$delete_group_property',
])

/** Events whose purpose is a change of the person. */
const ABOUT_PERSON: ReadonlySet<string> = new Set([
  '$identify',
  '$create_alias',
  '$merge_dangerously',
  '$set',
])

/** Events that need a person profile. */
const NEEDS_PERSON: ReadonlySet<string> = new Set([
  '$identify',
  '$create_alias',
  '$merge_dangerously',
  '$groupidentify',
  '$group_identify',
])

const NO_PROPERTIES: PersonProperties = {}
const NO_KEYS: readonly string[] = []

const PERSON_FIELDS = [
  '$set',
  '$set_once',
  '$unset',
  '$group_0',
  '$group_1',
  '$group_2',
  '$group_3',
  '$group_4',
]

/** `$process_person_profile`: only the boolean false makes an event anonymous. */
export function readPersonMode(draft: EventDraft): DropReason | null {
  const { properties } = draft
  const flag = properties['$process_person_profile']
  if (flag === undefined) return null
  if (flag !== false) {
    delete properties['$process_person_profile']
    if (flag !== true) warnOfFlag(draft, 'invalid_process_person_profile')
    return null
  }
  if (NEEDS_PERSON.has(draft.event)) {
    warnOfFlag(draft, 'invalid_event_when_process_person_profile_is_false')
    return 'invalid_without_person_profile'
  }
  draft.is_personless = true
  for (const field of PERSON_FIELDS) if (field in properties) delete properties[field]
  return null
}

/** Sets when a person was last shown a survey, by which surveys are held back: most SDKs leave that to the server. */
export function noteSurvey({ event, is_personless, properties, timestamp }: EventDraft): null {
  if (event !== 'survey shown' || is_personless) return null
  const set = properties['$set']
  const shown_at = new Date(timestamp / US_PER_MS).toISOString()
  properties['$set'] = { $survey_last_seen_date: shown_at, ...(isObject(set) ? set : {}) }
  return null
}

/**
 * Reads `$set`, `$set_once` and `$unset`, at the top level, in the properties, or both; and the automatic properties.
 */
export function readUpdate(draft: EventDraft): null {
  if (draft.is_personless) return null
  const { sent, properties } = draft
  const set = mergeObjects(properties['$set'], sent['$set'])
  const set_once = mergeObjects(properties['$set_once'], sent['$set_once'])
  if (set !== null && sent['$set'] !== undefined) properties['$set'] = set
  if (set_once !== null && sent['$set_once'] !== undefined) properties['$set_once'] = set_once
  if (sent['$unset'] !== undefined) properties['$unset'] ??= sent['$unset']
  if (WITHOUT_UPDATE.has(draft.event)) return null
  const unset = keysOf(properties['$unset'])
  const automatic = automaticOf(properties)
  const is_about_person = ABOUT_PERSON.has(draft.event)
  const has_only_objects = automatic.low === 0 && automatic.high === 0 && unset.length === 0
  if (has_only_objects && set === null && set_once === null) return null
  draft.update = {
    set: set ?? NO_PROPERTIES,
    set_once: set_once ?? NO_PROPERTIES,
    unset,
    automatic,
    is_about_person,
  }
  return null
}

/** Reads the other id of `$identify`, `$create_alias` and `$merge_dangerously`, which joins the event's person. */
export function readMerge(draft: EventDraft): null {
  const { properties } = draft
  switch (draft.event) {
    case '$identify':
      claimMerge(draft, properties['$anon_distinct_id'])
      return null
    case '$create_alias':
    case '$merge_dangerously':
      claimMerge(draft, properties['alias'] ?? draft.sent['alias'])
      return null
    default:
      return null
  }
}

/** Reads `$groups` of any event, and the properties that an event sets of a group or takes from it. */
export function readGroups(draft: EventDraft): null {
  if (draft.is_personless) return null
  const { properties } = draft
  const groups = properties['$groups']
  if (isObject(groups)) {
    draft.groups = Object.entries(groups)
      .filter(([group_type, key]) => group_type !== '' && key !== null)
      .slice(0, GROUPS_MAX)
      .map(([group_type, key]) => [cutGroup(group_type), cutGroup(propertyText(key))] as const)
  }
  const is_deleting = draft.event === '$delete_group_property'
  if (!is_deleting && draft.event !== '$groupidentify' && draft.event !== '$group_identify') {
    return null
  }
  const [group_type, key] = [properties['$group_type'], properties['$group_key']]
  // An empty type would take one of a project's five for good.
  if (!group_type || !key) return null
  const set = properties['$group_set']
  draft.group = {
    group_type: cutGroup(propertyText(group_type)),
    group_key: cutGroup(propertyText(key)),
    ...(is_deleting
      ? { set: NO_PROPERTIES, unset: keysOf(properties['$group_unset']) }
      : { set: isObject(set) ? set : {} }),
  }
  return null
}

/** Groups of an event; a project has five types of them, and further ones are left out. */
const GROUPS_MAX = 1000

/** Characters of a group type or key: both are database keys. */
export const GROUP_LENGTH_MAX = 400

function cutGroup(text: string): string {
  return cutText(text, GROUP_LENGTH_MAX)
}

function claimMerge(draft: EventDraft, other: unknown): void {
  if (other === undefined || other === null) return
  draft.merge = {
    // A broken client sends `{}` for an id that it has not got yet: the persons of all of them must not become one.
    other_id: typeof other === 'object' ? '[object Object]' : cutText(propertyText(other)),
    is_forced: draft.event === '$merge_dangerously',
    makes_other_main: draft.event === '$create_alias',
  }
}

function mergeObjects(inner: unknown, outer: unknown): PersonProperties | null {
  if (!isObject(inner)) return isObject(outer) ? outer : null
  return isObject(outer) ? { ...inner, ...outer } : inner
}

function keysOf(unset: unknown): readonly string[] {
  if (unset === undefined) return NO_KEYS
  if (Array.isArray(unset)) return unset.filter((key) => typeof key === 'string')
  return isObject(unset) ? Object.keys(unset) : NO_KEYS
}

function warnOfFlag(
  draft: EventDraft,
  type: 'invalid_process_person_profile' | 'invalid_event_when_process_person_profile_is_false',
): void {
  const { event, distinct_id } = draft
  addWarning(draft, { type, key: distinct_id, details: { event, distinct_id } })
}

/** Shorter JSON holds no change that is too large for a person or a group. */
export const LARGE_CHANGES_LENGTH = 32 * KIB

type Changes = Pick<PreparedEvent, 'distinct_id' | 'event' | 'group' | 'update'>

/**
 * Takes the changes that are too large for any person or group out of an event, and makes a warning of each. The data
 * thread would refuse them too, but parse them before: 110 ms for a megabyte of short names.
 */
export function limitChanges(
  { distinct_id, event, group, update }: Changes,
  limits: CaptureLimits,
): Pick<PreparedEvent, 'group' | 'update' | 'warnings'> {
  const warnings: Warning[] = []
  const limited = { group, update }
  if (update !== null && areTooLarge([update.set, update.set_once], update.unset, limits)) {
    limited.update = { ...update, set: NO_PROPERTIES, set_once: NO_PROPERTIES, unset: NO_KEYS }
    const details = { event, distinct_id }
    warnings.push({ type: 'person_properties_size_violation', key: distinct_id, details })
  }
  if (group !== null && areTooLarge([group.set], group.unset ?? NO_KEYS, limits)) {
    limited.group = { ...group, set: NO_PROPERTIES, ...(group.unset && { unset: NO_KEYS }) }
    const { group_type, group_key } = group
    const key = `${group_type}:${group_key}`
    const details = { group_type, group_key }
    warnings.push({ type: 'group_properties_size_violation', key, details })
  }
  return { ...limited, warnings }
}

/** A person of an older version may have more properties than `person_properties_max`, but no event has more than `properties_max`. */
function areTooLarge(
  sets: readonly PersonProperties[],
  unset: readonly string[],
  { person_bytes_max, properties_max }: CaptureLimits,
): boolean {
  let room = properties_max - unset.length
  if (room < 0) return true
  for (const set of sets) {
    for (const _ in set) {
      room -= 1
      if (room < 0) return true
    }
  }
  const bytes = sets.reduce((sum, set) => sum + Buffer.byteLength(JSON.stringify(set)), 0)
  return bytes > person_bytes_max
}
