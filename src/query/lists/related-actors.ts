/** Who came together with a person or a group in what happened lately, as trees. */
import type { Expr, Select } from '../../hogql/ast.ts'
import { call, compare, constant, field } from '../../hogql/nodes.ts'
import { expr, select } from '../../insights/tree.ts'
import { hasType } from './groups.ts'

/** One of whom others are asked: a person by its id, or a group by its type and key. */
export type ActorKey =
  | { readonly kind: 'group'; readonly group_type_index: number; readonly key: string }
  | { readonly kind: 'person'; readonly id: string }

/** What happened longer ago is not looked at. */
const DAYS = constant(90n)
/** The most persons, and the most groups of one type. */
const MAX = constant(100n)

/** Rows of a person's id. */
export function relatedPersonsTree(one: ActorKey): Select {
  return select`select distinct person_id from events where ${lately(one)}
    order by person_id limit ${MAX}`
}

/** Rows of key, time of creation, and properties as JSON text, of groups of one type. */
export function relatedGroupsTree(one: ActorKey, group_type_index: number): Select {
  const keys = select`select distinct ${keyOf(group_type_index)} from events where ${lately(one)}`
  return select`select key, created_at, properties from groups
    where ${hasType(group_type_index)} and key in ${keys} order by key limit ${MAX}`
}

function lately(one: ActorKey): Expr {
  const its =
    one.kind === 'person'
      ? compare(field(['person_id']), '==', call('toUUID', [constant(one.id)]))
      : compare(keyOf(one.group_type_index), '==', constant(one.key))
  return expr`${its} and timestamp >= now() - toIntervalDay(${DAYS})`
}

const keyOf = (group_type_index: number): Expr => field([`$group_${group_type_index}`])
