/** The relations that questions join events with, as far as any was read: a large one comes in pieces, so that nobody else waits for it. */
import type { Database } from 'bun:sqlite'
import { copyRows } from '../storage/copy.ts'
import { MIRRORS, type Mirror } from '../storage/copy-sources.ts'
import type { Writer } from '../storage/duckdb.ts'
import type { MirrorFile } from '../storage/mirror-files.ts'
import { type Base, type BasePlace, findBase, NO_BASE, relateMirror } from './filed-mirrors.ts'
import type { PeopleColumns } from './people-columns.ts'

/** Events are read with today's persons, so who was merged into whom, and split again, is always followed. */
const ALWAYS_MIRRORED = ['person_overrides', 'distinct_id_overrides']

/** Characters of a relation that is on its way which one round copies: about a tenth of a second of work. */
const PIECE_LENGTH = 8 * 1024 * 1024

/** How far the copy of a relation is. */
type Following = {
  /** The last change number it has. */
  readonly position: number
  /** The newest change number when it was begun: none of the rows up to there has an older version in the copy. */
  readonly fresh_until: number
  /** From then on every round brings it up to the last commit, all of it or nothing. Nobody reads it before. */
  readonly is_whole: boolean
  /** What the copy goes on from. */
  readonly base: Base
}

/** Relation → how far it is. */
export type Mirrored = ReadonlyMap<string, Following>

export const NOTHING_MIRRORED: Mirrored = new Map()

/** What has to be followed for a question that reads these relations. */
export function relationsIn(reads: readonly string[]): ReadonlySet<string> {
  const named = MIRRORS.map(({ relation }) => relation).filter((name) => reads.includes(name))
  return new Set([...ALWAYS_MIRRORED, ...named])
}

/** Whether all of them are there as of one commit. */
export function areFollowed(mirrored: Mirrored, relations: ReadonlySet<string>): boolean {
  return [...relations].every((relation) => mirrored.get(relation)?.is_whole === true)
}

/** The files that questions read in place. */
export function filesOf(mirrored: Mirrored): readonly MirrorFile[] {
  return [...mirrored.values()].flatMap(({ base }) => base.files)
}

/** The statements that make the relations of what stands in files; the others are as they are. */
export function relateMirrors(
  mirrored: Mirrored,
  columns: PeopleColumns,
  pathOf: (file: MirrorFile) => string,
): string {
  const made = MIRRORS.map((mirror) => {
    const { base = NO_BASE } = mirrored.get(mirror.relation) ?? {}
    return relateMirror(mirror, base, columns.of(mirror.table), pathOf)
  })
  return made.filter((statement) => statement !== '').join(';\n')
}

type Wanted = {
  readonly place: BasePlace
  /** The newest change number. */
  readonly change: number
  readonly wanted: ReadonlySet<string>
  readonly columns: PeopleColumns
}

/** One round. Runs in the transactions that its caller opened on both sides. */
export async function copyMirrors(
  db: Database,
  writer: Writer,
  before: Mirrored,
  { place, change, wanted, columns }: Wanted,
): Promise<Mirrored> {
  const mirrored = new Map(before)
  let is_enough = false
  for (const mirror of MIRRORS.filter(({ relation }) => wanted.has(relation))) {
    const begun = await goOnFrom(db, writer, mirror, {
      before: before.get(mirror.relation) ?? beginning(change),
      place,
    })
    const piece = nextPiece(begun, change)
    mirrored.set(mirror.relation, begun)
    // One that is on its way is enough for a round; the others' turn comes when it is whole.
    if (is_enough && !piece.is_whole) continue
    const source = columns.sourceOf(mirror, piece.is_fresh)
    const { project_id } = place
    const position = await copyRows(db, writer, source, { project_id, ...piece.range })
    const is_whole = piece.is_whole || position === change
    mirrored.set(mirror.relation, { ...begun, position, is_whole })
    is_enough ||= !is_whole
  }
  return mirrored
}

const beginning = (change: number): Following => ({
  position: 0,
  fresh_until: change,
  is_whole: false,
  base: NO_BASE,
})

/** Newer files take the place of what they know of the table's rows, and of what it did not get to yet. */
async function goOnFrom(
  db: Database,
  { connection }: Writer,
  { relation, table, filed }: Mirror,
  { before, place }: { readonly before: Following; readonly place: BasePlace },
): Promise<Following> {
  if (filed === undefined) return before
  const base = await findBase(db, connection, place, { relation, before: before.base })
  if (base === before.base) return before
  await connection.run(
    `create or replace table ${table} as select * from ${table} where change > ${base.change}`,
  )
  return { ...before, position: Math.max(before.position, base.change), base }
}

/** What of a relation one round copies. */
function nextPiece({ position, fresh_until, is_whole }: Following, change: number) {
  const is_fresh = position < fresh_until
  const range = {
    after: position,
    up_to: is_fresh ? fresh_until : change,
    ...(is_whole ? {} : { length_max: PIECE_LENGTH }),
  }
  return { range, is_fresh, is_whole }
}
