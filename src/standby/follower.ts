/** Follows a primary: asks for the commits that it lacks, stores them, and notes up to where its copy is whole. Runs from `start` until `close`. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BackOff, sleep } from '../back-off.ts'
import { errorMessage } from '../error-message.ts'
import {
  damageMark,
  filePath,
  filesFolder,
  findFilePath,
  syncPath,
  temporaryFolder,
} from '../storage/files/parquet.ts'
import {
  SHIPPED_DATABASES,
  type ShippedDatabase,
  type ShippedFile,
  type ShippedLog,
} from '../storage/sqlite/log-shipping.ts'
import { isFailedSync } from '../storage/sqlite/sqlite.ts'
import { SECOND_MS } from '../time.ts'
import { DatabaseCopy } from './database-copy.ts'
import type { Primary } from './primary.ts'
import { copiedLogPath, copiesFolder, copyPath, type StandbyState, writeState } from './state.ts'

/** A standby that has everything asks again after this time: about as much is lost when the primary is. */
const ASK_EVERY_MS = 50
const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5 * SECOND_MS
/** The time between two removals of files that no noted state names. */
const SWEEP_EVERY_MS = 60 * SECOND_MS

type FollowerContext = {
  readonly data_dir: string
  readonly primary: Primary
  readonly log: {
    readonly info: (fields: object, message: string) => void
    readonly warn: (fields: object, message: string) => void
    readonly error: (fields: object, message: string) => void
  }
  readonly now: () => Date
}

/**
 * The copies of one database: a takeover uses `noted`; `begun` replaces it once the primary's log no longer continues
 * it.
 */
type Copies = { noted: DatabaseCopy | null; begun: DatabaseCopy | null; last_number: number }

/** A snapshot file of the primary did not arrive as the manifest says. */
class FileFault extends Error {
  override readonly name = 'FileFault'
}

export class Follower {
  readonly #context: FollowerContext
  readonly #stop = new AbortController()
  readonly #back_off = new BackOff(RETRY_MIN_MS, RETRY_MAX_MS)
  #copies: Readonly<Record<ShippedDatabase, Copies>>
  /** Whether a sync has failed: the disk may lack what was received since the state was noted. */
  #is_unsynced = false
  #state: StandbyState
  #files: readonly ShippedFile[] = []
  /** The version of `#files`; -1 before the first list. */
  #version = -1
  /** The start of the primary in whose time the list was received. */
  #boot = ''
  #running: Promise<void> = Promise.resolve()
  #last_error: string | null = null
  #begun = 0
  #swept_ms = 0

  /** The folder is one that follows, or an empty one. */
  constructor(context: FollowerContext, state: StandbyState) {
    this.#context = context
    this.#state = state
    this.#copies = reopenCopies(context.data_dir, state)
  }

  /** The reason that the primary could not be followed last; null while it can. */
  get last_error(): string | null {
    return this.#last_error
  }

  /** Copies that were begun since the start. */
  get begun(): number {
    return this.#begun
  }

  get is_whole(): boolean {
    return this.#state.copies !== null
  }

  /** Time since the copies were equal to the primary's databases; null before the first time. */
  get behind_s(): number | null {
    const { equal_at } = this.#state
    if (equal_at === null) return null
    return Math.max(0, this.#context.now().getTime() - Date.parse(equal_at)) / 1000
  }

  start(): void {
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        const is_equal = await this.#round()
        if (this.#last_error !== null) this.#context.log.info({}, 'the primary answers again')
        this.#last_error = null
        this.#back_off.reset()
        if (!is_equal) continue
        // Now the list of files is the one of the noted state.
        this.#sweep()
        await sleep(ASK_EVERY_MS, signal)
      } catch (error) {
        if (signal.aborted) return
        if (isFailedSync(error)) this.#is_unsynced = true
        const reason = errorMessage(error)
        if (this.#last_error === null)
          this.#context.log.warn({ reason }, 'cannot follow the primary')
        this.#last_error = reason
        await sleep(this.#back_off.next(), signal)
      }
    }
  }

  /** Asks for both databases once. Resolves with whether the noted copies have everything. */
  async #round(): Promise<boolean> {
    if (this.#is_unsynced) this.#copies = reopenCopies(this.#context.data_dir, this.#state)
    this.#is_unsynced = false
    const asked_at = this.#context.now().toISOString()
    const ends: boolean[] = []
    for (const database of SHIPPED_DATABASES) ends.push(await this.#follow(database))
    if (!ends.every(Boolean)) return false
    await this.#receiveFiles()
    this.#note(asked_at)
    return true
  }

  /** Asks for the commits after the end of a copy. Resolves with whether the copy is whole now, apart from snapshot files. */
  async #follow(database: ShippedDatabase): Promise<boolean> {
    const { primary, data_dir } = this.#context
    const copies = this.#copies[database]
    const { signal } = this.#stop
    copies.begun ??= copies.noted === null ? this.#begin(database) : null
    const copy = copies.begun ?? copies.noted
    if (copy === null) return false
    const had_file = copy.has_file
    const received = await primary.readLog(database, copy.position, this.#version, signal)
    if (!copy.take(received)) {
      this.#context.log.warn(
        { database, data_dir },
        'the log of the primary does not continue the copy',
      )
      copies.begun = this.#begin(database)
      return false
    }
    if (!copy.has_file) await copy.copyParts(primary, signal)
    const { log } = received
    const is_listed = database === 'control' || this.#takeList(log)
    // The copied part of the file may be newer than the log that was asked for before.
    return had_file && log.is_end && is_listed && log.until === copy.position?.frames
  }

  /** Takes the list of files. False when the standby does not have the list of this moment. */
  #takeList({ boot, manifest_version, files }: ShippedLog): boolean {
    // A primary that was restored counts versions again.
    if (boot !== this.#boot) this.#version = -1
    this.#boot = boot
    if (manifest_version === null) return false
    if (files !== null) {
      this.#requirePaths(files)
      this.#files = files
      this.#version = manifest_version
    }
    return manifest_version === this.#version
  }

  /** Refuses a list whose numbers or ids lead out of the folder of files: a primary is another machine. */
  #requirePaths(files: readonly ShippedFile[]): void {
    const { data_dir } = this.#context
    const wrong = files.find((file) => findFilePath(data_dir, file) === null)
    if (wrong === undefined) return
    throw new FileFault(`the primary lists ${JSON.stringify(wrong.id)}, which is no snapshot file`)
  }

  /** Begins a new copy, from the pages of the noted one. One that was begun before is given up: the disk has room for two. */
  #begin(database: ShippedDatabase): DatabaseCopy {
    const copies = this.#copies[database]
    copies.begun?.remove()
    copies.begun = null
    copies.last_number += 1
    this.#begun += 1
    const { data_dir } = this.#context
    const name = { data_dir, database, number: copies.last_number }
    return DatabaseCopy.begin(name, this.#state.copies?.[database] ?? null)
  }

  /** Notes that the copies are equal to the primary's databases at a time; they are synced first. */
  #note(equal_at: string): void {
    const current = SHIPPED_DATABASES.map((database) => {
      const copies = this.#copies[database]
      copies.noted = copies.begun ?? copies.noted
      copies.begun = null
      copies.noted?.sync()
      return copies.noted
    })
    const write = (): void => {
      const [events, control] = current.map((copy) => copy?.state ?? null)
      if (!events || !control) return
      this.#state = { ...this.#state, copies: { events, control }, equal_at }
      writeState(this.#context.data_dir, this.#state)
    }
    write()
    if (current.map((copy) => copy?.applyFinished() ?? false).some(Boolean)) write()
  }

  /** Fetches the files of the manifest that are not here. */
  async #receiveFiles(): Promise<void> {
    for (const file of this.#files) {
      const path = filePath(this.#context.data_dir, file)
      if (existsSync(path) && statSync(path).size === file.byte_count) continue
      await this.#receiveFile(file, path)
    }
  }

  async #receiveFile(file: ShippedFile, path: string): Promise<void> {
    const { data_dir, primary, log } = this.#context
    const answer = await primary.readFile(file.project_id, file.id, this.#stop.signal)
    const fresh = join(temporaryFolder(data_dir), `${file.id}.received`)
    mkdirSync(dirname(fresh), { recursive: true })
    mkdirSync(dirname(path), { recursive: true })
    const hash = new Bun.CryptoHasher('sha256')
    const sink = Bun.file(fresh).writer()
    let bytes = 0
    for await (const piece of answer.body ?? []) {
      bytes += piece.length
      if (bytes > file.byte_count) throw new FileFault(`snapshot file ${file.id} does not end`)
      hash.update(piece)
      primary.bytes += piece.length
      await sink.write(piece)
    }
    await sink.end()
    const { size } = statSync(fresh)
    if (size !== file.byte_count) {
      throw new FileFault(`snapshot file ${file.id} came with ${size} of ${file.byte_count} bytes`)
    }
    // The file is damaged at the primary too, whose log says so.
    if (hash.digest('hex') !== file.sha256) {
      log.error({ file: file.id, project_id: file.project_id }, 'a snapshot file is damaged')
      writeFileSync(damageMark(path), '')
    }
    syncPath(fresh)
    renameSync(fresh, path)
    syncPath(dirname(path))
  }

  /** Removes copies, logs and snapshot files that the noted state does not need. */
  #sweep(): void {
    const { copies } = this.#state
    if (copies === null || performance.now() - this.#swept_ms < SWEEP_EVERY_MS) return
    this.#swept_ms = performance.now()
    const { data_dir } = this.#context
    const needed = new Set<string>()
    for (const database of SHIPPED_DATABASES) {
      if (this.#copies[database].begun !== null) return
      const path = copyPath(data_dir, database, copies[database].number)
      needed.add(basename(path))
      for (const { salts } of copies[database].runs)
        needed.add(basename(copiedLogPath(path, salts)))
    }
    for (const name of readdirSync(copiesFolder(data_dir))) {
      if (!needed.has(name)) rmSync(join(copiesFolder(data_dir), name))
    }
    const kept = new Set(this.#files.map((file) => filePath(data_dir, file)))
    const folder = filesFolder(data_dir)
    if (!existsSync(folder)) return
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile() && !kept.has(path.replace(/\.damaged$/, ''))) rmSync(path)
    }
  }
}

/** Opens the copies of a state as they were when it was noted. */
function reopenCopies(data_dir: string, state: StandbyState): Record<ShippedDatabase, Copies> {
  const reopen = (database: ShippedDatabase): Copies => {
    const copy = state.copies?.[database] ?? null
    if (copy === null) return { noted: null, begun: null, last_number: 0 }
    const { number } = copy
    const noted = DatabaseCopy.reopen({ data_dir, database, number }, copy)
    return { noted, begun: null, last_number: number }
  }
  return { events: reopen('events'), control: reopen('control') }
}

/** The state of an empty folder. */
export function beginFollowing(): StandbyState {
  return { phase: 'following', id: crypto.randomUUID(), copies: null, equal_at: null }
}
