/**
 * Brings persons over after their events: those events have made most of them. Each person of the source is compared with the
 * one here, and only what differs is sent, as events `$set` and `$merge_dangerously`.
 */
import { type JSONObject, parseObject } from '../sources/source.ts'
import { readInstant } from './instants.ts'
import type { Move } from './move.ts'
import { countReason } from './report.ts'
import { AnswerTooLarge, type QueryRow, type ServerAPI } from './server-api.ts'

const PAGE_PERSONS = 500
/** Persons of one query at the source: their ids are part of the next one, whose text may have 256 KiB there. */
const SOURCE_PERSONS = 2000
const IDS_PAGE = 5000
/** The most distinct ids of the persons of one page; a person whose ids do not fit is left out. */
const IDS_MAX = 200_000

type Person = {
  readonly id: string
  readonly created_at: string
  readonly properties: JSONObject
  readonly is_identified: boolean
}

type SourcePerson = Person & { readonly distinct_ids: readonly string[] }

/** A property that names the event which created the person. It is not compared: here another event may have done so. */
const CREATOR = '$creator_event_uuid'

export async function movePersons(move: Move): Promise<void> {
  const total = await move.source.count('persons')
  const most = Math.min(SOURCE_PERSONS, move.page_rows)
  let limit = most
  for (let after = move.state.persons.cursor?.[0] ?? ''; ; ) {
    const rows = await readPage(move, after, limit)
    if (rows === null) {
      limit = Math.ceil(limit / 4)
      continue
    }
    limit = Math.min(most, limit * 2)
    const last = rows.at(-1)
    if (last === undefined) break
    const last_id = move.requireSane(typeof last[0] === 'string' ? last[0] : null, 'a person')
    after = move.requireSane(last_id > after ? last_id : null, 'persons in their order')
    const persons = await readPersons(move, rows)
    const brought = await bringPersons(move, persons)
    move.addPage('persons', { cursor: [after, ''], read: rows.length, brought })
    move.save()
    move.showRows('persons', move.state.persons.read, total)
  }
  move.state.persons = { ...move.state.persons, cursor: null }
}

/**
 * Reads a page of persons; null where the answer is too large. A person that is too large alone comes without
 * properties.
 */
async function readPage(
  move: Move,
  after: string,
  limit: number,
): Promise<readonly QueryRow[] | null> {
  const read = (columns: string): Promise<readonly QueryRow[]> =>
    move.source.query(
      `select toString(id), ${columns} from persons
where toString(id) > {after} order by toString(id) limit ${limit}`,
      { after },
    )
  try {
    return await read('created_at, properties, is_identified')
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error
    return limit === 1 ? read('created_at') : null
  }
}

/** The persons of a page with their distinct ids; broken rows are counted. */
async function readPersons(
  move: Move,
  rows: readonly QueryRow[],
): Promise<readonly SourcePerson[]> {
  const persons = rows.flatMap((row) => {
    const person = readPerson(row)
    if (person === null) countReason(move.state.left_out, 'persons', 'a row that cannot be read')
    return person ?? []
  })
  const ids = await listIds(
    move.source,
    persons.map(({ id }) => id),
  )
  return persons.flatMap((person) => {
    const distinct_ids = ids.get(person.id)
    if (distinct_ids !== undefined) return { ...person, distinct_ids }
    countReason(move.state.left_out, 'persons', 'no distinct id, or too many')
    return []
  })
}

function readPerson([id, at, sent, is_identified]: QueryRow): Person | null {
  const created_at = readInstant(at)
  const properties = parseObject(sent)
  if (typeof id !== 'string' || created_at === null || properties === null) return null
  return {
    id,
    created_at,
    properties,
    is_identified: is_identified === true || is_identified === 1,
  }
}

/** The distinct ids of persons, by person. */
async function listIds(
  server: ServerAPI,
  person_ids: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const names_by_person = new Map<string, string[]>()
  let after = ['', '']
  for (let count = 0; count < IDS_MAX && person_ids.length > 0; ) {
    const [person = '', distinct_id = ''] = after
    const rows = await server.query(
      `select toString(person_id), distinct_id from person_distinct_ids where toString(person_id) in {person_ids}
and (toString(person_id) > {person} or (toString(person_id) = {person} and distinct_id > {distinct_id}))
order by toString(person_id), distinct_id limit ${IDS_PAGE}`,
      { person_ids, person, distinct_id },
    )
    for (const [id, name] of rows) {
      if (typeof id !== 'string' || typeof name !== 'string' || name === '') continue
      const names = names_by_person.get(id) ?? []
      names.push(name)
      names_by_person.set(id, names)
      after = [id, name]
    }
    if (rows.length < IDS_PAGE) return names_by_person
    count += rows.length
  }
  // The last person's ids were cut off.
  names_by_person.delete(after[0] ?? '')
  return names_by_person
}

/** Sends the differences of these persons; returns the number of persons that were changed or made. */
async function bringPersons(move: Move, persons: readonly SourcePerson[]): Promise<number> {
  const names = persons.flatMap(({ distinct_ids }) => distinct_ids)
  const owners = await findOwners(move.target, names)
  const owner_ids = [...new Set(owners.values())]
  const present = await readPresent(move.target, owner_ids)
  const protected_ids = new Set([
    ...findShared(move, persons, owners),
    ...(await findActive(move, owner_ids)),
  ])
  const events: JSONObject[] = []
  let brought = 0
  for (const person of persons) {
    const corrections = correct(move, person, { owners, present, protected_ids })
    for (const event of corrections) events.push(event)
    if (corrections.length > 0) brought += 1
  }
  await move.sendEvents('persons', events)
  return brought
}

/** The persons here that are several persons at the source, which is counted. */
function findShared(
  move: Move,
  persons: readonly SourcePerson[],
  owners: ReadonlyMap<string, string>,
): ReadonlySet<string> {
  const claims = new Map<string, string>()
  const shared = new Set<string>()
  for (const { id, distinct_ids } of persons) {
    for (const name of distinct_ids) {
      const owner = owners.get(name)
      if (owner === undefined) continue
      const other = claims.get(owner) ?? id
      claims.set(owner, id)
      if (other === id) continue
      shared.add(owner)
      countReason(move.state.left_out, 'persons', 'one person here with another of the source')
    }
  }
  return shared
}

/**
 * The persons who have sent events here by themselves: events that came within an hour of their time. Their properties are
 * newer than those of the source.
 */
async function findActive(
  { target }: Move,
  owner_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const active = new Set<string>()
  for (let start = 0; start < owner_ids.length; start += PAGE_PERSONS) {
    const rows = await target.query(
      `select distinct toString(person_id) from events
where dateDiff('minute', timestamp, created_at) < 60 and toString(person_id) in {ids} limit ${PAGE_PERSONS}`,
      { ids: owner_ids.slice(start, start + PAGE_PERSONS) },
    )
    for (const [id] of rows) active.add(String(id))
  }
  return active
}

/** The persons here to whom distinct ids belong. */
async function findOwners(
  target: ServerAPI,
  distinct_ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const owners = new Map<string, string>()
  for (let start = 0; start < distinct_ids.length; start += IDS_PAGE) {
    const rows = await target.query(
      `select distinct_id, toString(person_id) from person_distinct_ids where distinct_id in {names} limit ${IDS_PAGE}`,
      { names: distinct_ids.slice(start, start + IDS_PAGE) },
    )
    for (const [name, id] of rows) owners.set(String(name), String(id))
  }
  return owners
}

async function readPresent(
  target: ServerAPI,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Person>> {
  const present = new Map<string, Person>()
  for (let start = 0; start < ids.length; start += PAGE_PERSONS) {
    const rows = await target.query(
      `select toString(id), created_at, properties, is_identified from persons where toString(id) in {ids} limit ${PAGE_PERSONS}`,
      { ids: ids.slice(start, start + PAGE_PERSONS) },
    )
    for (const row of rows) {
      const person = readPerson(row)
      if (person !== null) present.set(person.id, person)
    }
  }
  return present
}

type PersonsHere = {
  /** The id of the person here, by distinct id. */
  readonly owners: ReadonlyMap<string, string>
  readonly present: ReadonlyMap<string, Person>
  /** Persons whose properties are not overwritten. */
  readonly protected_ids: ReadonlySet<string>
}

/** The events that make the person here like the one of the source: merges first, properties last. */
function correct(move: Move, person: SourcePerson, here: PersonsHere): readonly JSONObject[] {
  const { distinct_ids, created_at } = person
  const main = distinct_ids.find((name) => here.owners.has(name)) ?? distinct_ids[0]
  if (main === undefined) return []
  const owner = here.present.get(here.owners.get(main) ?? '')
  const aliases = aliasesOf(move, person, { main, owner, here })
  if (owner !== undefined && owner.created_at.slice(0, 23) !== created_at.slice(0, 23)) {
    countReason(move.state.left_out, 'persons', 'brought over, with another time of creation')
  }
  const base = { distinct_id: main, timestamp: created_at }
  const merges = aliases.map((alias) =>
    move.withUuid({ ...base, event: '$merge_dangerously', properties: { alias, $ip: '' } }),
  )
  const changes = changesOf(person, { owner, here, is_merged: merges.length > 0 })
  if (owner !== undefined && changes === null) return merges
  const properties = { ...(changes ?? { $set: {} }), $ip: '' }
  const setting = move.withUuid({ ...base, event: '$set', properties })
  return owner === undefined ? [setting, ...merges] : [...merges, setting]
}

type MainPerson = {
  readonly main: string
  readonly owner: Person | undefined
  readonly here: PersonsHere
}

/** The distinct ids to merge into the main one. */
function aliasesOf(
  move: Move,
  { distinct_ids, is_identified }: SourcePerson,
  { main, owner, here }: MainPerson,
): readonly string[] {
  const others = othersOf(main, distinct_ids, here.owners)
  if (!is_identified || owner?.is_identified === true || others.length > 0) return others
  // Any merge marks the person, also one of two ids that it has.
  const second_id = distinct_ids.find((name) => name !== main)
  if (second_id !== undefined) return [second_id]
  const reason = 'the mark of being identified: its one distinct id cannot be merged'
  countReason(move.state.left_out, 'persons', reason)
  return []
}

/**
 * The properties to set and to unset; null where there are none. A person that is active here gets only properties that
 * it lacks.
 */
function changesOf(
  { distinct_ids, properties }: SourcePerson,
  { owner, here, is_merged }: Omit<MainPerson, 'main'> & { readonly is_merged: boolean },
): JSONObject | null {
  const ids = [...new Set(distinct_ids.map((name) => here.owners.get(name) ?? ''))]
  // A merge brings the properties of the other person along.
  const before = Object.assign(
    {},
    ...ids.map((id) => here.present.get(id)?.properties),
  ) as JSONObject
  const is_protected = ids.some((id) => here.protected_ids.has(id))
  const differing = Object.entries(properties).filter(([name, value]) => {
    if (name === CREATOR) return false
    if (is_protected) return !Object.hasOwn(before, name)
    const present = owner?.properties ?? {}
    return (
      is_merged || !Bun.deepEquals(value, Object.hasOwn(present, name) ? present[name] : undefined)
    )
  })
  const $unset = is_protected
    ? []
    : Object.keys(before).filter((name) => name !== CREATOR && !Object.hasOwn(properties, name))
  if (differing.length === 0 && $unset.length === 0) return null
  return {
    $set: Object.fromEntries(differing),
    ...($unset.length === 0 ? {} : { $unset }),
  }
}

/** One id of each other person here, and every id that is unknown here. */
function othersOf(
  main: string,
  distinct_ids: readonly string[],
  owners: ReadonlyMap<string, string>,
): readonly string[] {
  const seen = new Set([owners.get(main)])
  return distinct_ids.filter((name) => {
    const owner = owners.get(name)
    if (name === main || (owner !== undefined && seen.has(owner))) return false
    if (owner !== undefined) seen.add(owner)
    return true
  })
}
