/** The steps that read what an event says about its person and groups. */
import { marksOfEvent } from '../../identity/automatic-properties.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'
import type { DropReason } from '../notes/counters.ts'
import { addWarning, type EventDraft } from './event-draft.ts'
import { cutText, propertyText } from './text.ts'

/** These never change a person's properties. */
const WITHOUT_UPDATE: ReadonlySet<string> = new Set([
  '$exception',
  '$$heatmap',
  '$groupidentify',
  '$group_identify',
])

/** These are sent for the sake of the person. */
const ABOUT_PERSON: ReadonlySet<string> = new Set([
  '$identify',
  '$create_alias',
  '$merge_dangerously',
  '$set',
])

/** These make no sense without a person profile. */
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

/** `$set`, `$set_once`, `$unset`, at the top level, inside the properties, or both; and what the event itself tells. */
export function readUpdate(draft: EventDraft): null {
  if (draft.is_personless) return null
  const { sent, properties } = draft
  const set = joined(properties['$set'], sent['$set'])
  const set_once = joined(properties['$set_once'], sent['$set_once'])
  if (set !== null && sent['$set'] !== undefined) properties['$set'] = set
  if (set_once !== null && sent['$set_once'] !== undefined) properties['$set_once'] = set_once
  if (sent['$unset'] !== undefined) properties['$unset'] ??= sent['$unset']
  if (WITHOUT_UPDATE.has(draft.event)) return null
  const unset = keysOf(properties['$unset'])
  const marks = marksOfEvent(properties)
  const is_about_person = ABOUT_PERSON.has(draft.event)
  const is_silent = marks.low === 0 && marks.high === 0 && unset.length === 0
  if (is_silent && set === null && set_once === null) return null
  draft.update = {
    set: set ?? NO_PROPERTIES,
    set_once: set_once ?? NO_PROPERTIES,
    unset,
    told: { ...marks, properties, text: '' },
    is_about_person,
  }
  return null
}

/** `$identify`, `$create_alias` and `$merge_dangerously` join another id to the event's person. */
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

/** `$groups` of any event, and what `$groupidentify` says. */
export function readGroups(draft: EventDraft): null {
  if (draft.is_personless) return null
  const { properties } = draft
  const groups = properties['$groups']
  if (isObject(groups)) {
    draft.groups = Object.entries(groups)
      .filter(([group_type, key]) => group_type !== '' && key !== null)
      .map(([group_type, key]) => [cutGroup(group_type), cutGroup(propertyText(key))] as const)
  }
  if (draft.event !== '$groupidentify' && draft.event !== '$group_identify') return null
  const [group_type, key] = [properties['$group_type'], properties['$group_key']]
  if (group_type === undefined || group_type === null || key === undefined || key === null) {
    return null
  }
  const set = properties['$group_set']
  draft.group = {
    group_type: cutGroup(propertyText(group_type)),
    group_key: cutGroup(propertyText(key)),
    set: isObject(set) ? set : {},
  }
  return null
}

/** Longest group type or key, in characters: both are keys of tables. */
const GROUP_LENGTH_MAX = 400

function cutGroup(text: string): string {
  return cutText(text, GROUP_LENGTH_MAX)
}

function claimMerge(draft: EventDraft, other: unknown): void {
  if (other === undefined || other === null) return
  draft.merge = {
    other_id: cutText(propertyText(other)),
    is_forced: draft.event === '$merge_dangerously',
    makes_other_main: draft.event === '$create_alias',
  }
}

function joined(inner: unknown, outer: unknown): PersonProperties | null {
  if (!isObject(inner)) return isObject(outer) ? outer : null
  return isObject(outer) ? { ...inner, ...outer } : inner
}

function keysOf(unset: unknown): readonly string[] {
  if (unset === undefined) return NO_KEYS
  if (Array.isArray(unset)) return unset.filter((key) => typeof key === 'string')
  return isObject(unset) ? Object.keys(unset) : NO_KEYS
}

function isObject(value: unknown): value is PersonProperties {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function warnOfFlag(
  draft: EventDraft,
  type: 'invalid_process_person_profile' | 'invalid_event_when_process_person_profile_is_false',
): void {
  const { event, distinct_id } = draft
  addWarning(draft, { type, key: distinct_id, details: { event, distinct_id } })
}
