/** The relations that queries join events with, as far as any was read: a large one comes in pieces, so that nobody else waits for it. */
import type { Database } from 'bun:sqlite'
import type { StatementWriter } from '../../storage/duckdb/duckdb.ts'
import { copyRows } from '../../storage/files/copy.ts'
import type { ReplicaFile } from '../../storage/files/replica-files.ts'
import { MIRRORS, type Replica } from '../../storage/files/replication-sources.ts'
import type { PersonColumns } from './person-columns.ts'
import {
  findBase,
  NO_BASE,
  type ReplicaBase,
  type ReplicaLocation,
  relateReplica,
} from './replica-files.ts'

/** Events are read with today's persons, so who was merged into whom, and split again, is always followed. */
const ALWAYS_MIRRORED = ['person_overrides', 'distinct_id_overrides']

/** Characters of a relation that is on its way which one round copies: about a tenth of a second of work. */
const PIECE_LENGTH = 8 * 1024 * 1024

/** How far the copy of a relation is. */
type ReplicaState = {
  /** The last change number it has. */
  readonly position: number
  /** The newest change number when it was begun: none of the rows up to there has an older version in the copy. */
  readonly fresh_until: number
  /** From then on every round brings it up to the last commit, all of it or nothing. Nobody reads it before. */
  readonly is_whole: boolean
  /** What the copy goes on from. */
  readonly base: ReplicaBase
}

/** Relation → how far it is. */
export type ReplicaStates = ReadonlyMap<string, ReplicaState>

export const NOTHING_MIRRORED: ReplicaStates = new Map()

/** What has to be followed for a query that reads these relations. */
export function relationsIn(reads: readonly string[]): ReadonlySet<string> {
  const named = MIRRORS.map(({ relation }) => relation).filter((name) => reads.includes(name))
  return new Set([...ALWAYS_MIRRORED, ...named])
}

/** Whether all of them are there as of one commit. */
export function haveReplicas(
  replica_states: ReplicaStates,
  relations: ReadonlySet<string>,
): boolean {
  return [...relations].every((relation) => replica_states.get(relation)?.is_whole === true)
}

/** The files that queries read in place. */
export function filesOf(replica_states: ReplicaStates): readonly ReplicaFile[] {
  return [...replica_states.values()].flatMap(({ base }) => base.files)
}

/** The statements that make the relations of what stands in files; the others are as they are. */
export function relateReplicas(
  replica_states: ReplicaStates,
  columns: PersonColumns,
  pathOf: (file: ReplicaFile) => string,
): string {
  const made = MIRRORS.map((replica) => {
    const { base = NO_BASE } = replica_states.get(replica.relation) ?? {}
    return relateReplica(replica, base, columns.of(replica.table), pathOf)
  })
  return made.filter((statement) => statement !== '').join(';\n')
}

type ReplicaUpdate = {
  readonly place: ReplicaLocation
  /** The newest change number. */
  readonly change: number
  readonly wanted: ReadonlySet<string>
  readonly columns: PersonColumns
}

/** One round. Runs in the transactions that its caller opened on both sides. */
export async function copyReplicas(
  db: Database,
  writer: StatementWriter,
  before: ReplicaStates,
  { place, change, wanted: allowed, columns }: ReplicaUpdate,
): Promise<ReplicaStates> {
  const replica_states = new Map(before)
  let is_enough = false
  for (const replica of MIRRORS.filter(({ relation }) => allowed.has(relation))) {
    const begun = await goOnFrom(db, writer, replica, {
      before: before.get(replica.relation) ?? beginning(change),
      place,
    })
    const piece = nextPiece(begun, change)
    replica_states.set(replica.relation, begun)
    // One that is on its way is enough for a round; the others' turn comes when it is whole.
    if (is_enough && !piece.is_whole) continue
    const source = columns.sourceOf(replica, piece.is_fresh)
    const { project_id } = place
    const position = await copyRows(db, writer, source, { project_id, ...piece.range })
    const is_whole = piece.is_whole || position === change
    replica_states.set(replica.relation, { ...begun, position, is_whole })
    is_enough ||= !is_whole
  }
  return replica_states
}

const beginning = (change: number): ReplicaState => ({
  position: 0,
  fresh_until: change,
  is_whole: false,
  base: NO_BASE,
})

/** Newer files take the place of what they know of the table's rows, and of what it did not get to yet. */
async function goOnFrom(
  db: Database,
  { connection }: StatementWriter,
  { relation, table, filed }: Replica,
  { before, place }: { readonly before: ReplicaState; readonly place: ReplicaLocation },
): Promise<ReplicaState> {
  if (filed === undefined) return before
  const base = await findBase(db, connection, place, { relation, before: before.base })
  if (base === before.base) return before
  await connection.run(
    `create or replace table ${table} as select * from ${table} where change > ${base.change}`,
  )
  return { ...before, position: Math.max(before.position, base.change), base }
}

/** What of a relation one round copies. */
function nextPiece({ position, fresh_until, is_whole }: ReplicaState, change: number) {
  const is_fresh = position < fresh_until
  const range = {
    after: position,
    up_to: is_fresh ? fresh_until : change,
    ...(is_whole ? {} : { length_max: PIECE_LENGTH }),
  }
  return { range, is_fresh, is_whole }
}
