/**
 * Rights of a caller in a project: scopes of the key and levels of the membership, both of which must allow an access.
 */
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import type { ActivityScope } from '../activity.ts'
import { findMembership } from '../organization.ts'
import type { MemberLevel } from '../tables.ts'
import { type Caller, getVisibleProject } from './access.ts'
import { type Levels, levelsInProjects, levelsOf, refusalByLevels } from './access-controls.ts'
import { type Resource, refusalByScopes, type Scopes } from './scopes.ts'
import {
  MEMBER_WAYS,
  type MemberWay,
  type NeededRight,
  OWNERS_OF_FLAGS,
  RESOURCE_OF,
  TABLE_WAYS,
} from './ways.ts'

export type Rights = {
  readonly scopes: Scopes
  readonly levels: Levels
}

/** The rights of the program's background work. */
export const ALL_RIGHTS: Rights = { scopes: ['*'], levels: null }

/** The rights of a caller with this level in a project. */
export function rightsAt(
  db: ControlDB,
  caller: Caller,
  { project, level }: { readonly project: { readonly id: number }; readonly level: MemberLevel },
): Rights {
  const { scopes, user_id } = caller
  return { scopes, levels: levelsOf(db, { user_id, project_id: project.id, level }) }
}

/** The rights of a caller in a project. Refuses projects that the caller cannot see, and those beyond the key. */
export function rightsIn(db: ControlDB, caller: Caller, project: { readonly id: number }): Rights {
  const { level } = getVisibleProject(db, caller, String(project.id))
  return rightsAt(db, caller, { project, level })
}

/**
 * The rights of a user in a project, whatever key acts for them. Refuses (`permission_denied`) a user who cannot see the
 * project.
 */
export function rightsOfUser(
  db: ControlDB,
  user_id: number,
  { id, organization_id }: { readonly id: number; readonly organization_id: string },
): Rights {
  const membership = findMembership(db, organization_id, user_id)
  const level =
    membership === null
      ? undefined
      : levelsInProjects(db, user_id, [{ id, level: membership.level }]).get(id)
  if (level !== undefined) {
    return { scopes: ['*'], levels: levelsOf(db, { user_id, project_id: id, level }) }
  }
  const detail = 'The user on whose behalf this runs no longer has access to the project.'
  throw new Refusal('permission_denied', detail)
}

/** Whether a caller has a right. */
export function hasRight(rights: Rights, need: NeededRight): boolean {
  return refusalOf(rights, need) === null
}

/** Refuses (`permission_denied`) a caller without a right, naming the scope or the level that is missing. */
export function requireRight(rights: Rights, need: NeededRight): void {
  const refusal = refusalOf(rights, need)
  if (refusal !== null) throw refusal
}

/** Whether a caller may see a member of answers with data of another resource. */
export function isShown(rights: Rights, way: MemberWay): boolean {
  return hasRight(rights, MEMBER_WAYS[way])
}

/** The tables that a caller's queries may not read, in the order of `TABLE_WAYS`. */
export function hiddenTables(rights: Rights): readonly string[] {
  if (rights.levels === null && rights.scopes.includes('*')) return []
  return [...TABLE_WAYS].flatMap(([table, needs]) =>
    needs.every((need) => hasRight(rights, need)) ? [] : [table],
  )
}

/** The item of an edit. */
type EditedItem = {
  readonly scope: ActivityScope
  /** The item before the edit, or the new one. */
  readonly item: object
}

/** Refuses an edit without the right to write such items, whatever route leads to it. */
export function requireEdit(rights: Rights, { scope, item }: EditedItem): void {
  const owner =
    scope === 'FeatureFlag' && 'creation_context' in item
      ? OWNERS_OF_FLAGS.get(item.creation_context)
      : undefined
  if (owner !== undefined && hasRight(rights, writing(owner))) return
  requireRight(rights, writing(RESOURCE_OF[scope]))
}

const writing = (resource: Resource): NeededRight => ({
  scope: `${resource}:write`,
  by: 'key_and_level',
})

/**
 * Whether a caller may read a flag's filters. The right to read a survey, experiment or early access feature includes
 * the flag that it created, except for members whose level hides flags.
 */
export function mayReadFlag(
  rights: Rights,
  { creation_context }: { readonly creation_context: string },
): boolean {
  const need = MEMBER_WAYS['linked_flag.filters']
  const owner = OWNERS_OF_FLAGS.get(creation_context)
  if (owner === undefined) return hasRight(rights, need)
  const of_owner: NeededRight = { scope: `${owner}:read`, by: 'key_and_level' }
  return (
    hasRight(rights, need) ||
    (hasRight(rights, { ...need, by: 'level' }) && hasRight(rights, of_owner))
  )
}

/** Whether a caller may read items of a kind, and so their values in the activity log. */
export function mayReadItems(rights: Rights, scope: ActivityScope): boolean {
  return hasRight(rights, { scope: `${RESOURCE_OF[scope]}:read`, by: 'key_and_level' })
}

function refusalOf({ scopes, levels }: Rights, { scope, by }: NeededRight): Refusal | null {
  const by_key = by === 'level' ? null : refusalByScopes(scopes, scope)
  return by_key ?? refusalByLevels(levels, scope)
}
