/** One project inside the worker: a locked DuckDB instance that catches up with events.db before every query. */
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
import { gatheredFolder } from '../../storage/files/parquet.ts'
import { listReplicaFiles } from '../../storage/files/replica-files.ts'
import { CREATE_STAGED, TAIL } from '../../storage/files/replication-sources.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import { CREATE_REMOVED } from '../../storage/log/pending-removals.ts'
import { DUCKDB_RELATIONS } from '../../storage/sqlite/sql-files.ts'
import { openReader } from '../../storage/sqlite/sqlite.ts'
import { type MacroState, updateEventMacros } from './columns/event-macros.ts'
import {
  type ColumnSet,
  MaterializedColumns,
  type NeededColumns,
} from './columns/materialized-columns.ts'
import { PersonColumns } from './columns/person-columns.ts'
import {
  NO_OVERRIDES,
  type PersonOverridesState,
  readPersonOverrides,
} from './columns/person-overrides.ts'
import { FileSlots, requireReadable } from './file-slots.ts'
import { createMacros } from './macro-file.ts'
import { type ReaderConnection, ReaderConnections } from './reader-connections.ts'
import {
  areReplicasCurrent,
  copyReplicas,
  filesOf,
  NO_REPLICAS,
  type ReplicaStates,
  relationsIn,
  replicaMacros,
} from './replicas/replica-feed.ts'
import { registerScalars } from './scalar-functions.ts'

type ProjectStoreOptions = {
  readonly data_dir: string
  /** A folder for this store, deleted when it closes, as is the instance's `spill_dir`. */
  readonly folder: string
  readonly project_id: number
  /** Files that may be added before the store has to be reopened. */
  readonly spare_slots: number
  readonly instance: InstanceOptions
  /** The file of macros; null runs their statements. */
  readonly macro_file: string | null
}

type StoreResources = {
  readonly slots: FileSlots
  readonly db: Database
  readonly instance: DuckDBInstance
  readonly writer: StatementWriter
  readonly readers: ReaderConnections
}

/** The state of the instance: the positions in events.db, the files, the macros. */
type StoreState = {
  readonly version: number
  readonly seq: number
  readonly change: number
  readonly flushed_seq: number
  readonly files: readonly FileRow[]
  readonly has_tail: boolean
  readonly persons: PersonOverridesState
  readonly column_set: ColumnSet
  readonly replica_states: ReplicaStates
  /** The statements that created the macros of replicas. */
  readonly replica_macros: string
}

const EMPTY_STATE: StoreState = {
  version: -1,
  seq: 0,
  change: 0,
  flushed_seq: 0,
  files: [],
  has_tail: false,
  persons: NO_OVERRIDES,
  column_set: { columns: [], events: [], version: 0, request: 0 },
  replica_states: NO_REPLICAS,
  replica_macros: '',
}

export class ProjectStore {
  readonly #options: ProjectStoreOptions
  readonly #slots: FileSlots
  readonly #db: Database
  readonly #instance: DuckDBInstance
  /** The only connection that writes, in one catch-up round at a time. */
  readonly #writer: StatementWriter
  readonly #readers: ReaderConnections
  #followed = relationsIn([])
  readonly #demand = new MaterializedColumns()
  readonly #person_columns = new PersonColumns()
  #state: StoreState = EMPTY_STATE
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

  /** Opens and locks the instance. It is empty before the first `follow`. */
  static async open(options: ProjectStoreOptions): Promise<ProjectStore> {
    mkdirSync(options.folder, { recursive: true })
    const db = openReader(join(options.data_dir, 'events.db'))
    const { data_dir, folder, project_id, spare_slots } = options
    const files = [...listFiles(db, project_id), ...listReplicaFiles(db, project_id)]
    const slots = new FileSlots(data_dir, folder, files.length + spare_slots)
    const instance = await openInstance(options.instance)
    const connection = await instance.connect()
    registerScalars(connection)
    await createMacros(connection, options.macro_file)
    await connection.run(createRelations(project_id))
    const readers = await ReaderConnections.open(instance)
    await lockInstance(connection, slots.allPaths(), gatheredFolder(data_dir, project_id))
    return new ProjectStore(options, {
      slots,
      db,
      instance,
      writer: new StatementWriter(connection),
      readers,
    })
  }

  /** Takes a connection for one query. The files it can read stay until `release` is called. */
  async connect(sql: string): Promise<{ reader: ReaderConnection; release: () => void }> {
    const release = this.#slots.hold()
    try {
      const reader = await this.#readers.take(sql)
      return { reader, release: () => void this.#readers.giveBack(reader).finally(release) }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Requests columns and macros from the next `follow` on, until the returned function is called. */
  acquire(needs: NeededColumns): () => void {
    return this.#demand.acquire(needs)
  }

  /**
   * Catches up with the last commit: events, requested columns and macros, and the replicas that `reads` names.
   * Refuses with `storage_unavailable` when a file of the manifest is damaged; throws SlotsFull.
   */
  async follow(reads: readonly string[]): Promise<void> {
    const relations = relationsIn(reads)
    this.#followed = this.#followed.union(relations)
    do await this.#followOnce()
    while (!areReplicasCurrent(this.#state.replica_states, relations))
  }

  #followOnce(): Promise<void> {
    // A running round may have read the log before the caller's event was committed: only the next one counts.
    this.#next_round ??= this.#round
      .catch(() => undefined)
      .then(() => {
        this.#next_round = null
        this.#round = this.#catchUp()
        return this.#round
      })
    return this.#next_round
  }

  /** Runs one round with the demand at its beginning; later requests wait for the next round. */
  async #catchUp(): Promise<void> {
    const column_set = this.#demand.current()
    try {
      await this.#adoptNewestRetried(column_set)
    } catch (error) {
      // A column or macro that cannot be created must not make the project's other queries fail.
      this.#demand.drop(column_set, this.#state.column_set)
      throw error
    }
  }

  /** Retries once with a newer manifest: files that it has dropped may have been deleted before they were linked. */
  async #adoptNewestRetried(column_set: ColumnSet): Promise<void> {
    try {
      await this.#adoptNewest(column_set)
    } catch (error) {
      if (readLogState(this.#db).version === this.#tried_version) throw error
      await this.#adoptNewest(column_set)
    }
  }

  /** Copies one consistent read of events.db in one DuckDB transaction. */
  async #adoptNewest(column_set: ColumnSet): Promise<void> {
    this.#db.run('begin')
    try {
      const state = readLogState(this.#db)
      this.#tried_version = state.version
      if (this.#isCurrent(state, column_set)) return
      await this.#writer.repeat('begin transaction')
      const next = await this.#copy(state, column_set)
      await this.#writer.repeat('commit')
      this.#person_columns.commit()
      const has_retired = this.#slots.retireOthers([...next.files, ...filesOf(next.replica_states)])
      if (has_retired) this.#readers.forget()
      this.#state = next
    } catch (error) {
      await this.#writer.repeat('rollback').catch(() => undefined)
      this.#person_columns.rollback()
      throw error
    } finally {
      this.#db.run('commit')
    }
  }

  #isCurrent(state: LogState, column_set: ColumnSet): boolean {
    const { version, seq, change, replica_states } = this.#state
    if (version !== state.version || seq !== state.seq || change !== state.change) return false
    return (
      this.#state.column_set.version === column_set.version &&
      areReplicasCurrent(replica_states, this.#followed)
    )
  }

  async #copy(state: LogState, column_set: ColumnSet): Promise<StoreState> {
    const { data_dir, project_id } = this.#options
    const { connection } = this.#writer
    const files =
      state.version === this.#state.version
        ? this.#state.files
        : await this.#adoptFiles(state.flushed_seq)
    // Events of files are back in the log (a damaged file was restored from it): refill the tail.
    const is_back = state.flushed_seq < this.#state.flushed_seq
    if (is_back) await this.#writer.repeat('truncate tail')
    const after = is_back ? state.flushed_seq : Math.max(this.#state.seq, state.flushed_seq)
    await copyRows(this.#db, this.#writer, TAIL, { project_id, after, up_to: state.seq })
    await this.#person_columns.add(connection, column_set.columns)
    const replica_states = await copyReplicas(this.#db, this.#writer, this.#state.replica_states, {
      location: { data_dir, project_id, slots: this.#slots },
      change: state.change,
      relations: this.#followed,
      columns: this.#person_columns,
    })
    const persons = await readPersonOverrides(this.#db, connection, project_id, this.#state.persons)
    const has_tail = await this.#hasTail(state)
    const { version, seq, change, flushed_seq } = state
    const replica_macros = replicaMacros(replica_states, this.#person_columns, (file) =>
      this.#slots.pathOf(file),
    )
    if (replica_macros !== this.#state.replica_macros) await connection.run(replica_macros)
    const counts = { version, seq, change, flushed_seq, has_tail }
    const next = { ...counts, files, persons, column_set, replica_states, replica_macros }
    await this.#updateEventMacros(next)
    return next
  }

  /** Adopts the manifest's files, and deletes their events from the tail in the same transaction, so that every event is read once. */
  async #adoptFiles(flushed_seq: number): Promise<readonly FileRow[]> {
    const files = listFiles(this.#db, this.#options.project_id)
    const adopted_ids = new Set(this.#state.files.map(({ id }) => id))
    const added = files.filter(({ id }) => !adopted_ids.has(id))
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

  /** The tail loses rows to files; between two manifests it may be called full although removals have emptied it. */
  async #hasTail({ version }: LogState): Promise<boolean> {
    if (version === this.#state.version && this.#state.has_tail) return true
    const reader = await this.#writer.connection.runAndReadAll('select 1 from tail limit 1')
    return reader.currentRowCount > 0
  }

  async #updateEventMacros(next: StoreState): Promise<void> {
    const change = updateEventMacros(relationState(this.#state), relationState(next), (file) =>
      this.#slots.pathOf(file),
    )
    if (change !== '') await this.#writer.connection.run(change)
  }

  /** Closes the instance and frees its memory; running queries fail. */
  close(): void {
    this.#writer.close()
    this.#readers.close()
    this.#instance.closeSync()
    this.#db.close()
    rmSync(this.#options.folder, { recursive: true, force: true })
    rmSync(this.#options.instance.spill_dir, { recursive: true, force: true })
  }
}

/** As one text: each call takes 0.5 ms of processor time beside its statements. */
function createRelations(project_id: number): string {
  const own_id = `create macro project_id() as ${project_id}::bigint`
  return [own_id, DUCKDB_RELATIONS, CREATE_STAGED, TAIL.create, CREATE_REMOVED].join(';\n')
}

/** Selects the part of the state that event macros depend on. */
function relationState({ version, files, has_tail, persons, column_set }: StoreState): MacroState {
  return { version, files, has_tail, persons, macros: column_set.events }
}
