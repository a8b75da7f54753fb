/** The trees of related actors: persons and groups that share recent events with an actor. */
import type { Expr, Select } from '../../hogql/syntax/ast.ts'
import { call, compare, constant, field } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { hasType } from './groups.ts'

/** An actor: a person by id, or a group by type and key. */
export type ActorKey =
  | { readonly kind: 'group'; readonly group_type_index: number; readonly key: string }
  | { readonly kind: 'person'; readonly id: string }

/** Older events are not read. */
const DAYS = constant(90n)
/** Maximum number of persons, and of groups of one type. */
const MAX = constant(100n)

/** Rows: person ids. */
export function relatedPersonsTree(actor: ActorKey): Select {
  return select`select distinct person_id from events where ${inRecentEvents(actor)}
    order by person_id limit ${MAX}`
}

/** Rows of groups of one type: key, creation time, properties as JSON text. */
export function relatedGroupsTree(actor: ActorKey, group_type_index: number): Select {
  const keys = select`select distinct ${keyOf(group_type_index)} from events where ${inRecentEvents(actor)}`
  return select`select key, created_at, properties from groups
    where ${hasType(group_type_index)} and key in ${keys} order by key limit ${MAX}`
}

function inRecentEvents(actor: ActorKey): Expr {
  const is_actor =
    actor.kind === 'person'
      ? compare(field(['person_id']), '==', call('toUUID', [constant(actor.id)]))
      : compare(keyOf(actor.group_type_index), '==', constant(actor.key))
  return expr`${is_actor} and timestamp >= now() - toIntervalDay(${DAYS})`
}

const keyOf = (group_type_index: number): Expr => field([`$group_${group_type_index}`])
