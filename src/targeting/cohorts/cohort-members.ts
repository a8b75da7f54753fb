/** Adds persons to static cohorts and removes them: by distinct id, email address or person id. */

import type { ControlDB } from '../../storage/control/control-db.ts'
import type { CohortChange } from '../../storage/persons/flag-rows.ts'
import { readOneByOne } from '../../threads/sliced-json.ts'
import { Slices } from '../../threads/slices.ts'
import { uuidBytes } from '../../uuid.ts'
import type { ListedPerson, PersonSource } from '../shared/person-reads.ts'
import { type CohortRow, setCount } from './cohort.ts'
import type { PersonList } from './persons-table.ts'

/** Writes members; resolves after the commit. */
type MemberWriter = { changeCohort(change: CohortChange): Promise<void> }

/** Dependencies of changes to static cohorts. */
export type MemberContext = {
  readonly control: ControlDB
  readonly persons: PersonSource
  readonly rows: MemberWriter
}

/** Members per message to the data thread, and so per transaction: 15 ms of its processor time. */
const SLICE = 500
/** Persons that are read at once to find their email addresses. */
const READ_SLICE = 2000
/** Members that a page leaves out between two looks at the clock. */
const SKIPPED = 50_000

const PERSON_ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i

/** Adds persons by distinct id or person id. Unknown ids are skipped; returns how many were known. */
export async function addMembers(
  context: MemberContext,
  cohort: CohortRow,
  names: readonly string[],
): Promise<number> {
  const ids = await findPersonIds(context.persons, cohort.project_id, names)
  await changeMembers(context, cohort, ids, 'added')
  return ids.length
}

/** Adds persons by the property `email`, ignoring case; returns how many were found. */
async function addMembersByEmail(
  context: MemberContext,
  cohort: CohortRow,
  emails: readonly string[],
): Promise<number> {
  const allowed = new Set(emails.map((email) => email.toLowerCase()))
  const ids: Uint8Array[] = []
  let after: Uint8Array | null = null
  for (;;) {
    const slice: readonly ListedPerson[] = context.persons.listPersons(
      cohort.project_id,
      after,
      READ_SLICE,
    )
    for (const { id, properties } of slice) {
      const email = properties['email']
      if (typeof email === 'string' && allowed.has(email.toLowerCase())) ids.push(id)
    }
    after = slice.at(-1)?.id ?? null
    if (after === null) break
    await Bun.sleep(0)
  }
  await changeMembers(context, cohort, ids, 'added')
  return ids.length
}

/** Adds the persons that a table names. */
export function addPersonList(
  context: MemberContext,
  cohort: CohortRow,
  list: PersonList,
): Promise<number> {
  const add = list.by === 'email' ? addMembersByEmail : addMembers
  return add(context, cohort, list.names)
}

/** Adds persons whose ids are known to exist. */
export function addMemberIds(
  context: MemberContext,
  cohort: CohortRow,
  ids: readonly Uint8Array[],
): Promise<void> {
  return changeMembers(context, cohort, ids, 'added')
}

/** Removes persons from a static cohort. */
export async function removeMembers(
  context: MemberContext,
  cohort: CohortRow,
  names: readonly string[],
): Promise<void> {
  const ids = await findPersonIds(context.persons, cohort.project_id, names)
  await changeMembers(context, cohort, ids, 'removed')
}

/**
 * A page of a cohort's members in the order of their ids, found by the index alone. Reading the persons before the page
 * too held the main thread for 0.8 s at each of its slices in a cohort of 130,000.
 */
export async function readMembers(
  persons: PersonSource,
  at: { readonly project_id: number; readonly cohort_id: number },
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly members: readonly ListedPerson[]; readonly has_more: boolean }> {
  const slices = new Slices()
  let after: Uint8Array | null = null
  for (let left = offset; left > 0; left -= SKIPPED) {
    const [last] = persons.listMemberIds(at, after, 1, Math.min(left, SKIPPED) - 1)
    if (last === undefined) return { members: [], has_more: false }
    after = last
    if (slices.isOver()) await slices.end()
  }
  const ids = persons.listMemberIds(at, after, limit + 1)
  const members = await readOneByOne(
    ids.slice(0, limit),
    (id) => persons.findPersonById(at.project_id, id) ?? undefined,
  )
  return { members, has_more: ids.length > limit }
}

/** Adds persons whose ids are known to exist, slice by slice, and counts the members once at the end. */
export async function addMemberSlices(
  context: MemberContext,
  cohort: CohortRow,
  slices: AsyncIterable<readonly Uint8Array[]> | Iterable<readonly Uint8Array[]>,
): Promise<void> {
  for await (const ids of slices) await sendChange(context.rows, cohort, ids, 'added')
  recount(context, cohort)
}

/** Copies all persons of one cohort into another. */
export function copyMembers(
  context: MemberContext,
  from: CohortRow,
  into: CohortRow,
): Promise<void> {
  return addMemberSlices(context, into, memberIdSlices(context.persons, from))
}

function* memberIdSlices(
  persons: PersonSource,
  { id: cohort_id, project_id }: Pick<CohortRow, 'id' | 'project_id'>,
): Generator<readonly Uint8Array[]> {
  let after: Uint8Array | null = null
  for (;;) {
    const ids: Uint8Array[] = persons.listMemberIds({ project_id, cohort_id }, after, SLICE)
    if (ids.length === 0) return
    yield ids
    after = ids.at(-1) ?? null
  }
}

/** Removes all persons from a cohort, before it is deleted. */
export async function emptyCohort(
  { persons, rows }: MemberContext,
  { id: cohort_id, project_id }: Pick<CohortRow, 'id' | 'project_id'>,
): Promise<void> {
  for (const removed of memberIdSlices(persons, { id: cohort_id, project_id })) {
    await rows.changeCohort({ project_id, cohort_id, added: [], removed })
  }
}

/** Looks up a slice of names per turn of the event loop; unknown names are skipped. */
async function findPersonIds(
  persons: PersonSource,
  project_id: number,
  names: readonly string[],
): Promise<readonly Uint8Array[]> {
  const ids: Uint8Array[] = []
  const slices = new Slices()
  for (const name of names) {
    if (slices.isOver()) await slices.end()
    const id = findPersonId(persons, project_id, name)
    if (id !== null) ids.push(id)
  }
  return ids
}

function findPersonId(persons: PersonSource, project_id: number, name: string): Uint8Array | null {
  const person = persons.findPerson(project_id, name)
  if (person !== null) return person.id
  if (!PERSON_ID.test(name)) return null
  const id = uuidBytes(name)
  return persons.hasPerson(project_id, id) ? id : null
}

type Direction = 'added' | 'removed'

async function changeMembers(
  context: MemberContext,
  cohort: CohortRow,
  ids: readonly Uint8Array[],
  direction: Direction,
): Promise<void> {
  for (let start = 0; start < ids.length; start += SLICE) {
    await sendChange(context.rows, cohort, ids.slice(start, start + SLICE), direction)
  }
  recount(context, cohort)
}

function sendChange(
  rows: MemberWriter,
  { id: cohort_id, project_id }: CohortRow,
  ids: readonly Uint8Array[],
  direction: Direction,
): Promise<void> {
  const none = { project_id, cohort_id, added: [], removed: [] }
  return rows.changeCohort({ ...none, [direction]: ids })
}

function recount({ control, persons }: MemberContext, { id, project_id }: CohortRow): void {
  persons.refresh()
  setCount(control, id, persons.countMembers(project_id, id))
}
