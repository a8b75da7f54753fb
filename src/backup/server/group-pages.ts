/** Brings groups over after the events that made most of them, and finds out which number each type of group has here. */
import { isObject } from '../../json.ts'
import { type JSONObject, parseObject, readObject } from '../sources/source.ts'
import { readInstant } from './instants.ts'
import type { Move } from './move.ts'
import { countReason } from './report.ts'
import { isAbsent, isTextAfter, type QueryRow, type ServerAPI } from './server-api.ts'

const PAGE_GROUPS = 500
const INDEX_MAX = 4

/** Group types by number. */
type TypesByNumber = ReadonlyMap<number, string>

/** Notes the number here of each group type of the source. `is_last`: a type that is missing here stays so. */
export async function mapGroupTypes(move: Move, is_last: boolean): Promise<void> {
  const [theirs, ours] = [await readTypes(move.source), await readTypes(move.target)]
  const numbers = new Map([...ours].map(([index, type]) => [type, index]))
  const numbers_here = (move.state.items['group_types'] = {} as (typeof move.state.items)[string])
  for (const [index, type] of theirs) {
    const here = numbers.get(type)
    if (here === undefined) {
      if (!is_last) continue
      const reason = 'no event has named this type of group here'
      move.report.noteItem({ kind: 'group_types', id: String(index), name: type, reason })
    } else {
      numbers_here[String(index)] = { id: here, digest: '' }
      if (is_last && here !== index) {
        move.report.note(
          `Group type ${JSON.stringify(type)} is number ${here} here and ${index} at the source: HogQL that names it by number means another.`,
        )
      }
    }
  }
}

async function readTypes(server: ServerAPI): Promise<TypesByNumber> {
  const answer = await server.get('groups_types/').catch((error: unknown) => {
    if (isAbsent(error)) return []
    throw error
  })
  const list: readonly unknown[] = Array.isArray(answer) ? answer : []
  const pairs = list.flatMap((item): [number, string][] => {
    if (!isObject(item)) return []
    const { group_type: type, group_type_index: index } = item
    const is_index = typeof index === 'number' && index >= 0 && index <= INDEX_MAX
    return is_index && typeof type === 'string' && type !== '' ? [[index, type]] : []
  })
  return new Map(pairs)
}

export async function moveGroups(move: Move): Promise<void> {
  await mapGroupTypes(move, false)
  const types = await readTypes(move.source)
  const total = await move.source.count('groups')
  let [index, key] = move.state.groups.cursor ?? ['-1', '']
  for (;;) {
    const rows = await move.source.query(
      `select index, key, created_at, properties from groups
where index > {index} or (index = {index} and key > {key}) order by index, key limit ${PAGE_GROUPS}`,
      { index: Number(index), key },
    )
    const last = rows.at(-1)
    if (last === undefined) break
    const next = Number(last[0])
    const is_after =
      next > Number(index) || (next === Number(index) && isTextAfter(String(last[1]), key))
    ;[index, key] = [
      move.requireSane(is_after ? String(next) : null, 'groups in their order'),
      String(last[1]),
    ]
    const brought = await bringGroups(move, rows, types)
    move.addPage('groups', { cursor: [index, key], read: rows.length, brought })
    move.save()
    move.showRows('groups', move.state.groups.read, total)
  }
  move.state.groups = { ...move.state.groups, cursor: null }
}

async function bringGroups(
  move: Move,
  rows: readonly QueryRow[],
  types: TypesByNumber,
): Promise<number> {
  const events: JSONObject[] = []
  for (const [index, of_index] of Map.groupBy(rows, ([first]) => Number(first))) {
    const present = await readPresent(move, index, of_index)
    for (const row of of_index) {
      const group = readGroup(row, types.get(index))
      if (group === null) countReason(move.state.left_out, 'groups', 'a row that cannot be read')
      else events.push(...correctGroup(move, group, present.get(group.key) ?? null))
    }
  }
  await move.sendEvents('groups', events)
  return events.length
}

type SourceGroup = {
  readonly type: string
  readonly key: string
  readonly timestamp: string
  readonly properties: JSONObject
}

function readGroup([, key, at, sent]: QueryRow, type: string | undefined): SourceGroup | null {
  const properties = parseObject(sent)
  const timestamp = readInstant(at)
  if (type === undefined || typeof key !== 'string' || key === '') return null
  return properties === null || timestamp === null ? null : { type, key, timestamp, properties }
}

/**
 * Makes the event that creates a group or adds the properties that the group lacks. Values that it has stay, since they
 * may be newer.
 */
function correctGroup(
  move: Move,
  { type, key, timestamp, properties }: SourceGroup,
  here: JSONObject | null,
): readonly JSONObject[] {
  const lacking = Object.entries(properties).filter(
    ([name]) => here === null || !Object.hasOwn(here, name),
  )
  const has_others = Object.entries(properties).some(
    ([name, value]) =>
      here !== null && Object.hasOwn(here, name) && !Bun.deepEquals(here[name], value),
  )
  if (has_others) countReason(move.state.left_out, 'groups', 'other values here, which stay')
  if (here !== null && lacking.length === 0) return []
  const $group_set = Object.fromEntries(lacking)
  const group = { $group_type: type, $group_key: key, $group_set, $ip: '' }
  const event = { event: '$groupidentify', distinct_id: `$${type}_${key}`, timestamp }
  return [move.withUuid({ ...event, properties: group })]
}

async function readPresent(
  move: Move,
  index: number,
  rows: readonly QueryRow[],
): Promise<ReadonlyMap<string, JSONObject>> {
  const here = move.findTarget('group_types', String(index))
  if (here === null) return new Map()
  const present = await move.target.query(
    `select key, properties from groups where index = {index} and key in {keys} limit ${PAGE_GROUPS}`,
    { index: Number(here), keys: rows.map(([, key]) => String(key)) },
  )
  return new Map(present.map(([key, properties]) => [String(key), readObject(properties)]))
}
