/** Words in lists of actors that stand for whole persons and groups, and how those are found. */
import type { Expr } from '../../hogql/ast.ts'
import { call, constant, field, order, tuple } from '../../hogql/nodes.ts'
import type { RunTree } from '../insight.ts'
import { select } from '../tree.ts'
import type { ColumnWords } from './shown-columns.ts'

/** A person or a group, whole. */
type ActorObject = Readonly<Record<string, unknown>>

/** Persons or groups by their id or key. */
export type ActorsById = ReadonlyMap<string, ActorObject>

/** The words that are replaced by what was found. */
const OBJECTS: ReadonlySet<string> = new Set(['actor', 'group', 'person', 'person_display_name'])

/** What a person is called by, in this order. */
const NAME_PROPERTIES = [
  'email',
  'Email',
  'name',
  'Name',
  'username',
  'Username',
  'UserName',
] as const

const same = (value: unknown): unknown => value

/** The words of a list; `id` is the actor's. */
export function actorColumns(id: Expr): ColumnWords {
  const text = { expr: call('toString', [id]), read: same }
  return {
    id: text,
    person: text,
    actor: text,
    group: text,
    person_display_name: text,
    'person.$delete': { expr: constant(1n), read: same },
    'group.$delete': { expr: constant(1n), read: same },
    matched_recordings: { expr: constant(0n), read: () => [] },
  }
}

/** The columns, by their index, whose ids stand for objects. */
export function objectColumns(names: readonly string[]): ReadonlyMap<number, string> {
  const words = names.map((name) => name.split('--', 1)[0]?.trim() ?? '')
  return new Map(
    words.flatMap((word, index) => (OBJECTS.has(word) ? [[index, word] as const] : [])),
  )
}

/** What a word shows of an actor; of one that was not found only its id. */
export function serializeActor(word: string, id: unknown, match: ActorsById): unknown {
  const actor = match.get(String(id)) ?? { id }
  return word === 'person_display_name' ? { display_name: displayName(actor), id } : actor
}

function displayName({ id, properties, distinct_ids }: ActorObject): string {
  const known: Readonly<Partial<Record<string, unknown>>> =
    typeof properties === 'object' ? { ...properties } : {}
  const named = NAME_PROPERTIES.map((name) => known[name]).find(
    (value) => (typeof value === 'string' && value !== '') || typeof value === 'number',
  )
  return String(named ?? (Array.isArray(distinct_ids) ? (distinct_ids[0] ?? id) : id))
}

/** Persons as objects: id, distinct ids, properties, when they were made. */
export async function findPersons(ids: readonly string[], ask: RunTree): Promise<ActorsById> {
  if (ids.length === 0) return new Map()
  const wanted = tuple(ids.map((id) => call('toUUID', [constant(id)])))
  const owned = await ask({
    ...select`select person_id, groupArray(distinct_id) as distinct_ids from person_distinct_ids
      where person_id in ${wanted} group by person_id`,
  })
  const distinct_ids = new Map(owned.rows.map(([id, list]) => [String(id), sorted(list)]))
  const { rows } = await ask(
    select`select id, properties, created_at, is_identified from persons where id in ${wanted}`,
  )
  const persons = rows.map(([id, properties, created_at, is_identified]) => {
    const person = {
      id,
      distinct_ids: distinct_ids.get(String(id)) ?? [],
      properties: JSON.parse(String(properties)),
      created_at,
      is_identified: is_identified === true || is_identified === 1,
    }
    return [String(id), person] as const
  })
  return new Map(persons)
}

const sorted = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.map(String).toSorted() : []

/** Groups of a type as objects, by their key. */
export async function findGroups(
  keys: readonly string[],
  group_type_index: number,
  ask: RunTree,
): Promise<ActorsById> {
  if (keys.length === 0) return new Map()
  const { rows } = await ask({
    ...select`select key, properties, created_at from groups
      where index = ${constant(BigInt(group_type_index))} and key in ${tuple(keys.map((key) => constant(key)))}`,
    order_by: [order(field(['key']))],
  })
  const groups = rows.map(([key, properties, created_at]) => {
    const group_properties: unknown = JSON.parse(String(properties))
    const group = {
      id: key,
      type: 'group',
      properties: group_properties,
      group_key: key,
      group_type_index,
      group_properties,
      created_at,
    }
    return [String(key), group] as const
  })
  return new Map(groups)
}
