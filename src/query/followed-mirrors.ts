/** The relations that questions join events with, as far as any was read: a large one comes in pieces, so that nobody else waits for it. */
import type { Database } from 'bun:sqlite'
import { copyRows } from '../storage/copy.ts'
import { MIRRORS } from '../storage/copy-sources.ts'
import type { Writer } from '../storage/duckdb.ts'
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

type Wanted = {
  readonly project_id: number
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
  { project_id, change, wanted, columns }: Wanted,
): Promise<Mirrored> {
  const mirrored = new Map(before)
  let is_enough = false
  for (const mirror of MIRRORS.filter(({ relation }) => wanted.has(relation))) {
    const piece = nextPiece(before.get(mirror.relation), change)
    // One that is on its way is enough for a round; the others' turn comes when it is whole.
    if (is_enough && !piece.is_whole) continue
    const source = columns.sourceOf(mirror, piece.is_fresh)
    const position = await copyRows(db, writer, source, { project_id, ...piece.range })
    const is_whole = piece.is_whole || position === change
    mirrored.set(mirror.relation, { position, fresh_until: piece.fresh_until, is_whole })
    is_enough ||= !is_whole
  }
  return mirrored
}

/** What of a relation one round copies. */
function nextPiece(before: Following | undefined, change: number) {
  const { position, fresh_until, is_whole } = before ?? {
    position: 0,
    fresh_until: change,
    is_whole: false,
  }
  const is_fresh = position < fresh_until
  const range = {
    after: position,
    up_to: is_fresh ? fresh_until : change,
    ...(is_whole ? {} : { length_max: PIECE_LENGTH }),
  }
  return { range, is_fresh, fresh_until, is_whole }
}
