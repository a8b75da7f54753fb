/** Groups: the group keys of an event, and the properties that events set and take away. */
import { type GroupKeys, NO_GROUPS } from '../storage/log/event-log.ts'
import type { GroupName, GroupStore, GroupTypeIndex } from '../storage/persons/group-store.ts'
import type { PersonProperties } from '../storage/persons/person-store.ts'
import type { PersonChanged } from './changes.ts'
import { fits, type SizeLimits, sizeAfter } from './size.ts'

/** The change of a group's properties that an event asks for. */
export type GroupClaim = {
  readonly group_type: string
  readonly group_key: string
  readonly set: PersonProperties
  /** Names of properties to remove, after `set`. A claim with this member creates no group. */
  readonly unset?: readonly string[]
}

/** An event's group keys by type index. A project has five types: further ones are ignored. */
export function resolveGroups(
  store: GroupStore,
  project_id: number,
  groups: readonly (readonly [group_type: string, group_key: string])[],
): GroupKeys {
  if (groups.length === 0) return NO_GROUPS
  const keys: (string | null)[] = [null, null, null, null, null]
  for (const [group_type, group_key] of groups) {
    const index = store.ensureTypeIndex(project_id, group_type)
    if (index !== null) keys[index] = group_key
  }
  return keys
}

/**
 * Creates the group or merges new properties over its old ones; or takes properties from a stored group. `at` is the
 * event's time in µs. `index` is the index of the group's type; null for a type beyond the fifth, which is not stored. A
 * group that would become too large keeps its old properties.
 */
export function identifyGroup(
  store: GroupStore,
  project_id: number,
  claim: GroupClaim,
  { at, limits }: { readonly at: number; readonly limits: SizeLimits },
): { readonly index: GroupTypeIndex | null; readonly is_too_large: boolean } {
  const only_stored = claim.unset !== undefined
  const index = only_stored
    ? store.findTypeIndex(project_id, claim.group_type)
    : store.ensureTypeIndex(project_id, claim.group_type)
  if (index === null) return { index, is_too_large: false }
  const group = store.open({ project_id, group_type_index: index, group_key: claim.group_key })
  if (only_stored && !group.is_stored) return { index, is_too_large: false }
  const change = { set: claim.set, unset: new Set(claim.unset) }
  const size = sizeAfter(group.size, group.properties, change)
  const is_too_large = !fits(size, group.size, limits)
  store.save(group, is_too_large ? { ...NO_CHANGE, size: group.size } : { ...change, size }, at)
  return { index, is_too_large }
}

/** A group to delete. */
export type GroupDeletion = GroupName & { readonly kind: 'delete_group' }

/** Deletes a group with its properties. Events keep its key, and the next `$groupidentify` creates it again, without them. */
export function deleteGroup(store: GroupStore, group: GroupDeletion): PersonChanged {
  return store.remove(group) ? { kind: 'changed', persons: [] } : { kind: 'not_found' }
}

const NO_CHANGE = { set: {}, unset: new Set<string>() }
