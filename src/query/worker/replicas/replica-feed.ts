/** Copies replicas (persons, ids, groups, …) on their first use, large ones in pieces, so that other queries do not wait. */
import type { Database } from 'bun:sqlite'
import type { StatementWriter } from '../../../storage/duckdb/duckdb.ts'
import { copyRows } from '../../../storage/files/copy.ts'
import type { ReplicaFile } from '../../../storage/files/replica-files.ts'
import { REPLICAS, type Replica } from '../../../storage/files/replication-sources.ts'
import type { PersonColumns } from '../columns/person-columns.ts'
import {
  findBase,
  NO_BASE,
  type ReplicaBase,
  type ReplicaLocation,
  replicaMacro,
} from './replica-base.ts'

/** Every query of events needs the current persons, so merges and splits are always copied. */
const ALWAYS_COPIED = ['person_overrides', 'distinct_id_overrides']

/** Characters of an incomplete replica copied per round: about 0.1 s of work. */
const PIECE_LENGTH = 8 * 1024 * 1024

/** The progress of one replica's copy. */
type ReplicaState = {
  /** The last copied change number. */
  readonly position: number
  /** The newest change number when the copy began: rows up to it have no older version in the copy. */
  readonly fresh_until: number
  /** True once complete: queries may read it, and every round brings it up to the last commit. */
  readonly is_complete: boolean
  /** The files that the copy continues from. */
  readonly base: ReplicaBase
}

/** Relation → progress of its copy. */
export type ReplicaStates = ReadonlyMap<string, ReplicaState>

export const NO_REPLICAS: ReplicaStates = new Map()

/** The replicas that a query of these relations needs. */
export function relationsIn(reads: readonly string[]): ReadonlySet<string> {
  const read_replicas = REPLICAS.map(({ relation }) => relation).filter((name) =>
    reads.includes(name),
  )
  return new Set([...ALWAYS_COPIED, ...read_replicas])
}

/** True when all of them are complete, as of one commit. */
export function areReplicasCurrent(
  replica_states: ReplicaStates,
  relations: ReadonlySet<string>,
): boolean {
  return [...relations].every((relation) => replica_states.get(relation)?.is_complete === true)
}

/** The files that queries read directly. */
export function filesOf(replica_states: ReplicaStates): readonly ReplicaFile[] {
  return [...replica_states.values()].flatMap(({ base }) => base.files)
}

/** Builds the macros of replicas with files; the others are plain tables. */
export function replicaMacros(
  replica_states: ReplicaStates,
  columns: PersonColumns,
  pathOf: (file: ReplicaFile) => string,
): string {
  const statements = REPLICAS.map((replica) => {
    const { base = NO_BASE } = replica_states.get(replica.relation) ?? {}
    return replicaMacro(replica, base, columns.of(replica.table), pathOf)
  })
  return statements.filter((statement) => statement !== '').join(';\n')
}

type ReplicaUpdate = {
  readonly location: ReplicaLocation
  /** The newest change number. */
  readonly change: number
  readonly relations: ReadonlySet<string>
  readonly columns: PersonColumns
}

/** Runs one round, within the transactions that the caller has opened on both databases. */
export async function copyReplicas(
  db: Database,
  writer: StatementWriter,
  before: ReplicaStates,
  { location, change, relations, columns }: ReplicaUpdate,
): Promise<ReplicaStates> {
  const replica_states = new Map(before)
  let has_incomplete = false
  for (const replica of REPLICAS.filter(({ relation }) => relations.has(relation))) {
    const state = await adoptBase(db, writer, replica, {
      before: before.get(replica.relation) ?? initialState(change),
      location,
    })
    const piece = nextPiece(state, change)
    replica_states.set(replica.relation, state)
    // A round copies a piece of one incomplete replica; the next one begins when it is complete.
    if (has_incomplete && !piece.is_complete) continue
    const source = columns.sourceOf(replica, piece.is_fresh)
    const { project_id } = location
    const position = await copyRows(db, writer, source, { project_id, ...piece.range })
    const is_complete = piece.is_complete || position === change
    replica_states.set(replica.relation, { ...state, position, is_complete })
    has_incomplete ||= !is_complete
  }
  return replica_states
}

const initialState = (change: number): ReplicaState => ({
  position: 0,
  fresh_until: change,
  is_complete: false,
  base: NO_BASE,
})

/** Adopts newer files of a replica: deletes the rows they contain from its table, and skips the copy of what they contain. */
async function adoptBase(
  db: Database,
  { connection }: StatementWriter,
  { relation, table, filed }: Replica,
  { before, location }: { readonly before: ReplicaState; readonly location: ReplicaLocation },
): Promise<ReplicaState> {
  if (filed === undefined) return before
  const base = await findBase(db, connection, location, { relation, before: before.base })
  if (base === before.base) return before
  await connection.run(
    `create or replace table ${table} as select * from ${table} where change > ${base.change}`,
  )
  return { ...before, position: Math.max(before.position, base.change), base }
}

/** The range of changes that one round copies. */
function nextPiece({ position, fresh_until, is_complete }: ReplicaState, change: number) {
  const is_fresh = position < fresh_until
  const range = {
    after: position,
    up_to: is_fresh ? fresh_until : change,
    ...(is_complete ? {} : { length_max: PIECE_LENGTH }),
  }
  return { range, is_fresh, is_complete }
}
