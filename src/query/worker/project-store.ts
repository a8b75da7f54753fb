/** One project inside the query process: a locked DuckDB instance that follows events.db up to the last commit. */
import type { Database } from 'bun:sqlite'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBInstance } from '@duckdb/node-api'
import {
  type InstanceOptions,
  lockInstance,
  openInstance,
  StatementWriter,
} from '../../storage/duckdb/duckdb.ts'
import { copyRows } from '../../storage/files/copy.ts'
import {
  type LogState,
  listFiles,
  readLogState,
  requireWhole,
} from '../../storage/files/manifest.ts'
import { listMirrorFiles } from '../../storage/files/replica-files.ts'
import { CREATE_STAGED, TAIL } from '../../storage/files/replication-sources.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import { CREATE_REMOVED } from '../../storage/log/pending-removals.ts'
import { DUCKDB_MACROS, DUCKDB_RELATIONS } from '../../storage/sqlite/sql-files.ts'
import { openReader } from '../../storage/sqlite/sqlite.ts'
import { type RelatedRelation, relateEvents } from './event-macros.ts'
import { FileSlots, requireReadable } from './file-slots.ts'
import { type ColumnSet, MaterializedColumns, type NeededColumns } from './materialized-columns.ts'
import { PersonColumns } from './person-columns.ts'
import { NO_PEOPLE, type PersonOverridesState, readPersonOverrides } from './person-overrides.ts'
import { type ReaderConnection, ReaderConnections } from './reader-connections.ts'
import {
  copyReplicas,
  filesOf,
  haveReplicas,
  NOTHING_MIRRORED,
  type ReplicaStates,
  relateReplicas,
  relationsIn,
} from './replica-feed.ts'
import { registerScalars } from './scalar-functions.ts'

export type ProjectStoreOptions = {
  readonly data_dir: string
  /** A folder of this store alone, deleted when it closes, as is the instance's `spill_dir`. */
  readonly folder: string
  readonly project_id: number
  /** How many files may come before the store has to be opened again. */
  readonly spare_slots: number
  readonly instance: InstanceOptions
}

type StoreResources = {
  readonly slots: FileSlots
  readonly db: Database
  readonly instance: DuckDBInstance
  readonly writer: StatementWriter
  readonly readers: ReaderConnections
}

/** What the instance holds: everything up to these numbers, in these files, the tail and the mirrors. */
type StoreState = {
  readonly version: number
  readonly seq: number
  readonly change: number
  readonly flushed_seq: number
  readonly files: readonly FileRow[]
  readonly persons: PersonOverridesState
  readonly column_set: ColumnSet
  readonly replica_states: ReplicaStates
  /** The statements that made the relations of it. */
  readonly mirror_relations: string
}

const NOTHING_HELD: StoreState = {
  version: -1,
  seq: 0,
  change: 0,
  flushed_seq: 0,
  files: [],
  persons: NO_PEOPLE,
  column_set: { columns: [], relations: [], version: 0, naming: 0 },
  replica_states: NOTHING_MIRRORED,
  mirror_relations: '',
}

export class ProjectStore {
  readonly #options: ProjectStoreOptions
  readonly #slots: FileSlots
  readonly #db: Database
  readonly #instance: DuckDBInstance
  /** The only connection that changes anything; it works one round after the other. */
  readonly #writer: StatementWriter
  readonly #readers: ReaderConnections
  #wanted = relationsIn([])
  readonly #offers = new MaterializedColumns()
  readonly #people_columns = new PersonColumns()
  #held: StoreState = NOTHING_HELD
  #tried_version = -1
  #round: Promise<void> = Promise.resolve()
  #next_round: Promise<void> | null = null

  private constructor(options: ProjectStoreOptions, parts: StoreResources) {
    this.#options = options
    this.#slots = parts.slots
    this.#db = parts.db
    this.#instance = parts.instance
    this.#writer = parts.writer
    this.#readers = parts.readers
  }

  /** Opens the instance and locks it. It holds nothing before the first `follow`. */
  static async open(options: ProjectStoreOptions): Promise<ProjectStore> {
    mkdirSync(options.folder, { recursive: true })
    const db = openReader(join(options.data_dir, 'events.db'))
    const { data_dir, folder, project_id, spare_slots } = options
    const files = [...listFiles(db, project_id), ...listMirrorFiles(db, project_id)]
    const slots = new FileSlots(data_dir, folder, files.length + spare_slots)
    const instance = await openInstance(options.instance)
    const connection = await instance.connect()
    await connection.run(`create macro project_id() as ${project_id}::bigint`)
    registerScalars(connection)
    await connection.run(DUCKDB_MACROS)
    await connection.run(DUCKDB_RELATIONS)
    await connection.run(CREATE_STAGED)
    await connection.run(TAIL.create)
    await connection.run(CREATE_REMOVED)
    const readers = await ReaderConnections.open(instance)
    await lockInstance(connection, slots.allPaths())
    return new ProjectStore(options, {
      slots,
      db,
      instance,
      writer: new StatementWriter(connection),
      readers,
    })
  }

  /** A connection for one query. Files it may still read stay until `release` is called. */
  async connect(sql: string): Promise<{ reader: ReaderConnection; release: () => void }> {
    const release = this.#slots.subscription()
    try {
      const reader = await this.#readers.take(sql)
      return { reader, release: () => void this.#readers.giveBack(reader).finally(release) }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Has these columns and relations offered from the next `follow` on, until what comes back is called. */
  want(things: NeededColumns): () => void {
    return this.#offers.want(things)
  }

  /**
   * Brings the events, all that is wanted, and the relations of `reads`, up to the last commit.
   * Refuses with `storage_unavailable` when a file of the manifest is damaged; throws SlotsFull.
   */
  async follow(reads: readonly string[]): Promise<void> {
    const relations = relationsIn(reads)
    this.#wanted = this.#wanted.union(relations)
    do await this.#followOnce()
    while (!haveReplicas(this.#held.replica_states, relations))
  }

  #followOnce(): Promise<void> {
    // A round under way may have read the log before the caller's event was there: only the next one counts.
    this.#next_round ??= this.#round
      .catch(() => undefined)
      .then(() => {
        this.#next_round = null
        this.#round = this.#catchUp()
        return this.#round
      })
    return this.#next_round
  }

  /** Takes in what is wanted as the round begins: whoever wants more meanwhile waits for the next one. */
  async #catchUp(): Promise<void> {
    const column_set = this.#offers.now()
    try {
      await this.#takeNewestTwice(column_set)
    } catch (error) {
      // One that cannot be offered must not keep the project's other queries from being answered.
      this.#offers.drop(column_set, this.#held.column_set)
      throw error
    }
  }

  /** Files that a newer manifest does not name may be gone before we have linked them: then the newer one counts. */
  async #takeNewestTwice(column_set: ColumnSet): Promise<void> {
    try {
      await this.#takeNewest(column_set)
    } catch (error) {
      if (readLogState(this.#db).version === this.#tried_version) throw error
      await this.#takeNewest(column_set)
    }
  }

  /** One consistent reading of events.db becomes one transaction here, or nothing changes. */
  async #takeNewest(column_set: ColumnSet): Promise<void> {
    this.#db.run('begin')
    try {
      const state = readLogState(this.#db)
      this.#tried_version = state.version
      if (this.#isCurrent(state, column_set)) return
      await this.#writer.repeat('begin transaction')
      const held = await this.#copy(state, column_set)
      await this.#writer.repeat('commit')
      this.#people_columns.keep()
      const are_gone = this.#slots.retireOthers([...held.files, ...filesOf(held.replica_states)])
      if (are_gone) this.#readers.forget()
      this.#held = held
    } catch (error) {
      await this.#writer.repeat('rollback').catch(() => undefined)
      this.#people_columns.undo()
      throw error
    } finally {
      this.#db.run('commit')
    }
  }

  #isCurrent(state: LogState, column_set: ColumnSet): boolean {
    const { version, seq, change, replica_states } = this.#held
    if (version !== state.version || seq !== state.seq || change !== state.change) return false
    return (
      this.#held.column_set.version === column_set.version &&
      haveReplicas(replica_states, this.#wanted)
    )
  }

  async #copy(state: LogState, column_set: ColumnSet): Promise<StoreState> {
    const { data_dir, project_id } = this.#options
    const { connection } = this.#writer
    const files =
      state.version === this.#held.version
        ? this.#held.files
        : await this.#adoptFiles(state.flushed_seq)
    // Events that were in files are in the log again: the tail begins again.
    const is_back = state.flushed_seq < this.#held.flushed_seq
    if (is_back) await this.#writer.repeat('truncate tail')
    const after = is_back ? state.flushed_seq : Math.max(this.#held.seq, state.flushed_seq)
    await copyRows(this.#db, this.#writer, TAIL, { project_id, after, up_to: state.seq })
    await this.#people_columns.add(connection, column_set.columns)
    const replica_states = await copyReplicas(this.#db, this.#writer, this.#held.replica_states, {
      place: { data_dir, project_id, slots: this.#slots },
      change: state.change,
      wanted: this.#wanted,
      columns: this.#people_columns,
    })
    const persons = await readPersonOverrides(this.#db, connection, project_id, this.#held.persons)
    const { version, seq, change, flushed_seq } = state
    const mirror_relations = relateReplicas(replica_states, this.#people_columns, (file) =>
      this.#slots.pathOf(file),
    )
    if (mirror_relations !== this.#held.mirror_relations) await connection.run(mirror_relations)
    const counts = { version, seq, change, flushed_seq }
    const held = { ...counts, files, persons, column_set, replica_states, mirror_relations }
    await this.#relateEvents(held)
    return held
  }

  /** Takes the manifest's files in, and out of the tail what they hold: together, so every event is seen once. */
  async #adoptFiles(flushed_seq: number): Promise<readonly FileRow[]> {
    const files = listFiles(this.#db, this.#options.project_id)
    const known = new Set(this.#held.files.map(({ id }) => id))
    const added = files.filter(({ id }) => !known.has(id))
    for (const file of added) requireWhole(this.#options.data_dir, file)
    for (const file of files) this.#slots.pathOf(file)
    for (const file of added) {
      await requireReadable(this.#writer.connection, this.#slots.pathOf(file), file)
    }
    await this.#writer.connection.run(
      `create or replace table tail as select * from tail where seq > ${flushed_seq}`,
    )
    return files
  }

  async #relateEvents(held: StoreState): Promise<void> {
    const change = relateEvents(relatedAs(this.#held), relatedAs(held), (file) =>
      this.#slots.pathOf(file),
    )
    if (change !== '') await this.#writer.connection.run(change)
  }

  /** Frees the instance and its memory; queries still running on it fail. */
  close(): void {
    this.#writer.close()
    this.#readers.close()
    this.#instance.closeSync()
    this.#db.close()
    rmSync(this.#options.folder, { recursive: true, force: true })
    rmSync(this.#options.instance.spill_dir, { recursive: true, force: true })
  }
}

/** What the relations of events are made of. */
function relatedAs({ version, files, persons, column_set }: StoreState): RelatedRelation {
  return { version, files, persons, relations: column_set.relations }
}
