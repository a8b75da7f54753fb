/** One project inside the query process: a locked DuckDB instance that follows events.db up to the last commit. */
import type { Database } from 'bun:sqlite'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBInstance } from '@duckdb/node-api'
import { copyRows } from '../storage/copy.ts'
import { CREATE_STAGED, TAIL } from '../storage/copy-sources.ts'
import { type InstanceOptions, lockInstance, openInstance, Writer } from '../storage/duckdb.ts'
import type { FileRow } from '../storage/event-log.ts'
import { type LogState, listFiles, readLogState, requireWhole } from '../storage/manifest.ts'
import { listMirrorFiles } from '../storage/mirror-files.ts'
import { CREATE_REMOVED } from '../storage/pending-removals.ts'
import { DUCKDB_MACROS, DUCKDB_RELATIONS } from '../storage/sql-files.ts'
import { openReader } from '../storage/sqlite.ts'
import { type EventPeople, followPeople, NO_PEOPLE } from './event-people.ts'
import { type Related, relateEvents } from './events-relation.ts'
import { FileSlots, requireReadable } from './file-slots.ts'
import {
  areFollowed,
  copyMirrors,
  filesOf,
  type Mirrored,
  NOTHING_MIRRORED,
  relateMirrors,
  relationsIn,
} from './followed-mirrors.ts'
import { type Offer, Offers, type ThingsWanted } from './offers.ts'
import { PeopleColumns } from './people-columns.ts'
import { type Reader, ReaderConnections } from './reader-connections.ts'
import { registerScalars } from './scalar-functions.ts'

export type StoreOptions = {
  readonly data_dir: string
  /** A folder of this store alone, deleted when it closes, as is the instance's `spill_dir`. */
  readonly folder: string
  readonly project_id: number
  /** How many files may come before the store has to be opened anew. */
  readonly spare_slots: number
  readonly instance: InstanceOptions
}

type StoreParts = {
  readonly slots: FileSlots
  readonly db: Database
  readonly instance: DuckDBInstance
  readonly writer: Writer
  readonly readers: ReaderConnections
}

/** What the instance holds: everything up to these numbers, in these files, the tail and the mirrors. */
type Held = {
  readonly version: number
  readonly seq: number
  readonly change: number
  readonly flushed_seq: number
  readonly files: readonly FileRow[]
  readonly people: EventPeople
  readonly offer: Offer
  readonly mirrored: Mirrored
  /** The statements that made the relations of it. */
  readonly mirror_relations: string
}

const NOTHING_HELD: Held = {
  version: -1,
  seq: 0,
  change: 0,
  flushed_seq: 0,
  files: [],
  people: NO_PEOPLE,
  offer: { columns: [], relations: [], version: 0, naming: 0 },
  mirrored: NOTHING_MIRRORED,
  mirror_relations: '',
}

export class ProjectStore {
  readonly #options: StoreOptions
  readonly #slots: FileSlots
  readonly #db: Database
  readonly #instance: DuckDBInstance
  /** The only connection that changes anything; it works one round after the other. */
  readonly #writer: Writer
  readonly #readers: ReaderConnections
  #wanted = relationsIn([])
  readonly #offers = new Offers()
  readonly #people_columns = new PeopleColumns()
  #held: Held = NOTHING_HELD
  #tried_version = -1
  #round: Promise<void> = Promise.resolve()
  #next_round: Promise<void> | null = null

  private constructor(options: StoreOptions, parts: StoreParts) {
    this.#options = options
    this.#slots = parts.slots
    this.#db = parts.db
    this.#instance = parts.instance
    this.#writer = parts.writer
    this.#readers = parts.readers
  }

  /** Opens the instance and locks it. It holds nothing before the first `follow`. */
  static async open(options: StoreOptions): Promise<ProjectStore> {
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
      writer: new Writer(connection),
      readers,
    })
  }

  /** A connection for one question. Files it may still read stay until `release` is called. */
  async connect(sql: string): Promise<{ reader: Reader; release: () => void }> {
    const release = this.#slots.hold()
    try {
      const reader = await this.#readers.take(sql)
      return { reader, release: () => void this.#readers.giveBack(reader).finally(release) }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Has these columns and relations offered from the next `follow` on, until what comes back is called. */
  want(things: ThingsWanted): () => void {
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
    while (!areFollowed(this.#held.mirrored, relations))
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
    const offer = this.#offers.now()
    try {
      await this.#takeNewestTwice(offer)
    } catch (error) {
      // One that cannot be offered must not keep the project's other questions from being answered.
      this.#offers.drop(offer, this.#held.offer)
      throw error
    }
  }

  /** Files that a newer manifest does not name may be gone before we have linked them: then the newer one counts. */
  async #takeNewestTwice(offer: Offer): Promise<void> {
    try {
      await this.#takeNewest(offer)
    } catch (error) {
      if (readLogState(this.#db).version === this.#tried_version) throw error
      await this.#takeNewest(offer)
    }
  }

  /** One consistent reading of events.db becomes one transaction here, or nothing changes. */
  async #takeNewest(offer: Offer): Promise<void> {
    this.#db.run('begin')
    try {
      const state = readLogState(this.#db)
      this.#tried_version = state.version
      if (this.#isCurrent(state, offer)) return
      await this.#writer.repeat('begin transaction')
      const held = await this.#copy(state, offer)
      await this.#writer.repeat('commit')
      this.#people_columns.keep()
      const are_gone = this.#slots.retireOthers([...held.files, ...filesOf(held.mirrored)])
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

  #isCurrent(state: LogState, offer: Offer): boolean {
    const { version, seq, change, mirrored } = this.#held
    if (version !== state.version || seq !== state.seq || change !== state.change) return false
    return this.#held.offer.version === offer.version && areFollowed(mirrored, this.#wanted)
  }

  async #copy(state: LogState, offer: Offer): Promise<Held> {
    const { data_dir, project_id } = this.#options
    const { connection } = this.#writer
    const files =
      state.version === this.#held.version
        ? this.#held.files
        : await this.#adoptFiles(state.flushed_seq)
    // Events that were in files are in the log again: the tail begins anew.
    const is_back = state.flushed_seq < this.#held.flushed_seq
    if (is_back) await this.#writer.repeat('truncate tail')
    const after = is_back ? state.flushed_seq : Math.max(this.#held.seq, state.flushed_seq)
    await copyRows(this.#db, this.#writer, TAIL, { project_id, after, up_to: state.seq })
    await this.#people_columns.add(connection, offer.columns)
    const mirrored = await copyMirrors(this.#db, this.#writer, this.#held.mirrored, {
      place: { data_dir, project_id, slots: this.#slots },
      change: state.change,
      wanted: this.#wanted,
      columns: this.#people_columns,
    })
    const people = await followPeople(this.#db, connection, project_id, this.#held.people)
    const { version, seq, change, flushed_seq } = state
    const mirror_relations = relateMirrors(mirrored, this.#people_columns, (file) =>
      this.#slots.pathOf(file),
    )
    if (mirror_relations !== this.#held.mirror_relations) await connection.run(mirror_relations)
    const counts = { version, seq, change, flushed_seq }
    const held = { ...counts, files, people, offer, mirrored, mirror_relations }
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

  async #relateEvents(held: Held): Promise<void> {
    const change = relateEvents(relatedAs(this.#held), relatedAs(held), (file) =>
      this.#slots.pathOf(file),
    )
    if (change !== '') await this.#writer.connection.run(change)
  }

  /** Frees the instance and its memory; questions still running on it fail. */
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
function relatedAs({ version, files, people, offer }: Held): Related {
  return { version, files, people, relations: offer.relations }
}
