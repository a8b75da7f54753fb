/**
 * Columns of actor lists that show whole persons and groups (`person`, `actor`, `group`), and the
 * lookups for them.
 */
import type { Expr } from '../../hogql/syntax/ast.ts'
import { call, constant, field, integer, order, tuple } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'
import type { InsightContext, RunTree } from '../insight.ts'
import type { ColumnWords } from './shown-columns.ts'

/** A person or group as a JSON object. */
type ActorObject = Readonly<Record<string, unknown>>

/** Persons by id, or groups by key. */
export type ActorsById = ReadonlyMap<string, ActorObject>

/** Columns that are replaced by looked-up objects. */
const OBJECTS: ReadonlySet<string> = new Set(['actor', 'group', 'person', 'person_display_name'])

/** Properties that name a person unless the project configures others, by priority. */
export const NAME_PROPERTIES = [
  'email',
  'Email',
  'name',
  'Name',
  'username',
  'Username',
  'UserName',
] as const

/** The properties that name a person, by priority. */
export const namingProperties = ({
  person_display_name_properties: names,
}: Pick<InsightContext, 'person_display_name_properties'>): readonly string[] =>
  names?.length ? names : NAME_PROPERTIES

const same = (value: unknown): unknown => value

/** The column words of an actor list; `id` is the actor's id. */
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

/** Indexes of the columns whose ids are replaced by objects, with their words. */
export function objectColumns(names: readonly string[]): ReadonlyMap<number, string> {
  const words = names.map((name) => name.split('--', 1)[0]?.trim() ?? '')
  return new Map(
    words.flatMap((word, index) => (OBJECTS.has(word) ? [[index, word] as const] : [])),
  )
}

/** The value of a column for an actor; only the id when the lookup found none. */
export function serializeActor(
  word: string,
  id: unknown,
  { actors, names }: { readonly actors: ActorsById; readonly names: readonly string[] },
): unknown {
  const actor = actors.get(String(id)) ?? { id }
  return word === 'person_display_name' ? { display_name: displayName(actor, names), id } : actor
}

function displayName(
  { id, properties, distinct_ids }: ActorObject,
  names: readonly string[],
): string {
  const known = new Map(Object.entries(Object(properties)))
  const display_name = names
    .map((name) => known.get(name))
    .find((value) => (typeof value === 'string' && value !== '') || typeof value === 'number')
  return String(display_name ?? (Array.isArray(distinct_ids) ? (distinct_ids[0] ?? id) : id))
}

/** Looks up persons: id, distinct ids, properties, creation time. */
export async function findPersons(ids: readonly string[], run: RunTree): Promise<ActorsById> {
  if (ids.length === 0) return new Map()
  const person_ids = tuple(ids.map((id) => call('toUUID', [constant(id)])))
  const owned = await run({
    ...select`select person_id, groupArray(distinct_id) as distinct_ids from person_distinct_ids
      where person_id in ${person_ids} group by person_id`,
  })
  const distinct_ids = new Map(owned.rows.map(([id, list]) => [String(id), sortTexts(list)]))
  const { rows } = await run(
    select`select id, properties, created_at, is_identified from persons where id in ${person_ids}`,
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

const sortTexts = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.map(String).toSorted() : []

/** Looks up groups of a type, by key. */
export async function findGroups(
  keys: readonly string[],
  group_type_index: number,
  run: RunTree,
): Promise<ActorsById> {
  if (keys.length === 0) return new Map()
  const { rows } = await run({
    ...select`select key, properties, created_at from groups
      where index = ${integer(group_type_index)} and key in ${tuple(keys.map((key) => constant(key)))}`,
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
