/** Who is put into a list of people and taken out of it: named by distinct id, e-mail address or person id. */

import type { ControlDB } from '../storage/control.ts'
import type { CohortChange } from '../storage/flag-rows.ts'
import { type Cohort, setCount } from './cohort.ts'
import type { PeopleSource } from './people.ts'

/** Writes members; answers after the commit. */
export type MemberWriter = { changeCohort(change: CohortChange): Promise<void> }

/** What a list is changed with. */
export type MemberNeeds = {
  readonly control: ControlDB
  readonly people: PeopleSource
  readonly rows: MemberWriter
}

/** People in one message to the data thread. */
const SLICE = 2000

const PERSON_ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i

/** Adds people by distinct id or person id. Names that are nobody's are left out; answers how many were somebody's. */
export async function addMembers(
  needs: MemberNeeds,
  cohort: Cohort,
  names: readonly string[],
): Promise<number> {
  const found: Uint8Array[] = []
  for (const name of names) {
    const id = findPersonId(needs.people, cohort.project_id, name)
    if (id !== null) found.push(id)
  }
  await change(needs, cohort, found, 'added')
  return found.length
}

/** Adds people that are known to be there. */
export function addMemberIds(
  needs: MemberNeeds,
  cohort: Cohort,
  ids: readonly Uint8Array[],
): Promise<void> {
  return change(needs, cohort, ids, 'added')
}

/** Takes people out of a list. */
export async function removeMembers(
  needs: MemberNeeds,
  cohort: Cohort,
  names: readonly string[],
): Promise<void> {
  const found = names.flatMap((name) => findPersonId(needs.people, cohort.project_id, name) ?? [])
  await change(needs, cohort, found, 'removed')
}

/** Puts everybody who is in one cohort into another. */
export async function copyMembers(needs: MemberNeeds, from: Cohort, into: Cohort): Promise<void> {
  const at = { project_id: from.project_id, cohort_id: from.id }
  let after: Uint8Array | null = null
  for (;;) {
    const ids: Uint8Array[] = needs.people.listMemberIds(at, after, SLICE)
    await change(needs, into, ids, 'added')
    after = ids.at(-1) ?? null
    if (ids.length < SLICE) return
  }
}

/** The names in an uploaded table: the column whose head says so, else the first. */
export function namesInCsv(text: string): readonly string[] {
  const rows = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n|\r/)
    .map((line) => cellsOf(line))
  const [head = []] = rows
  const titles = head.map((cell) => cell.toLowerCase().replaceAll(/[\s-]+/g, '_'))
  const column = titles.findIndex((title) => TITLES.has(title))
  const body = column < 0 ? rows : rows.slice(1)
  return body.map((cells) => cells[Math.max(0, column)] ?? '').filter((name) => name !== '')
}

const TITLES: ReadonlySet<string> = new Set([
  'distinct_id',
  'distinctid',
  'person_id',
  'personid',
  'person_uuid',
  'uuid',
])

/** The cells of one line; quotes may stand around them, doubled inside. */
function cellsOf(line: string): string[] {
  const cells = line.match(/("(?:[^"]|"")*"|[^,;\t]*)(?:[,;\t]|$)/g) ?? []
  return cells.map((cell) =>
    cell
      .replace(/[,;\t]$/, '')
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .replaceAll('""', '"'),
  )
}

function findPersonId(people: PeopleSource, project_id: number, name: string): Uint8Array | null {
  const person = people.findPerson(project_id, name)
  if (person !== null) return person.id
  if (!PERSON_ID.test(name)) return null
  const id = Uint8Array.fromHex(name.replaceAll('-', ''))
  return people.hasPerson(project_id, id) ? id : null
}

async function change(
  { control, people, rows }: MemberNeeds,
  cohort: Cohort,
  ids: readonly Uint8Array[],
  direction: 'added' | 'removed',
): Promise<void> {
  const { id: cohort_id, project_id } = cohort
  for (let start = 0; start < ids.length; start += SLICE) {
    const slice = ids.slice(start, start + SLICE)
    const none = { project_id, cohort_id, added: [], removed: [] }
    await rows.changeCohort({ ...none, [direction]: slice })
  }
  people.refresh()
  setCount(control, cohort_id, people.countMembers(project_id, cohort_id))
}
