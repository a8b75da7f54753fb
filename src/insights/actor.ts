/** Who acts: a person, also one without a profile, or a group. */
import type { Expr } from '../hogql/ast.ts'
import { compare, constant, field } from '../hogql/nodes.ts'

/** What of a query says whose acts are counted: the type of groups, or nothing for persons. */
export type ActorGroupType = number | null | undefined

/**
 * The actor of an event. Events without a person profile have a person id of their own for each distinct id, so every
 * such distinct id is an actor; events of no group of the type have the actor `''`, see `hasActor`.
 */
export function actorOf(group_type_index: ActorGroupType, prefix: readonly string[] = []): Expr {
  if (group_type_index === null || group_type_index === undefined) {
    return field([...prefix, 'person_id'])
  }
  return field([...prefix, `$group_${group_type_index}`])
}

/** The condition that an event has an actor; null where every event has one. */
export function hasActor(
  group_type_index: ActorGroupType,
  prefix: readonly string[] = [],
): Expr | null {
  if (group_type_index === null || group_type_index === undefined) return null
  return compare(actorOf(group_type_index, prefix), '!=', constant(''))
}
