/** Actors, which an insight counts: persons (with or without a profile) or groups. */
import type { Expr } from '../../hogql/syntax/ast.ts'
import { compare, constant, field } from '../../hogql/syntax/nodes.ts'

/** The member of a query that chooses actors: a group type's index, or nothing for persons. */
type ActorGroupType = number | null | undefined

/**
 * The actor of an event. An event without a person profile has a person id per distinct id, so each
 * distinct id is an actor; an event without a group of the type has the actor `''`, see `hasActor`.
 */
export function actorOf(group_type_index: ActorGroupType): Expr {
  const is_person = group_type_index === null || group_type_index === undefined
  return field([is_person ? 'person_id' : `$group_${group_type_index}`])
}

/** The condition that an event has an actor; null where every event has one. */
export function hasActor(group_type_index: ActorGroupType): Expr | null {
  if (group_type_index === null || group_type_index === undefined) return null
  return compare(actorOf(group_type_index), '!=', constant(''))
}
