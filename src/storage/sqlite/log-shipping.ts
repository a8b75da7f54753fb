/**
 * The primary's side of a standby: reads the commits from the write-ahead logs of both databases, as bytes, and
 * keeps the log of events.db from starting over before standbys have it.
 *
 * A log starts over when all of it is in the database file and no reader needs it. So a reading transaction (the hold)
 * stays open at the last commit that was sent. When the log has to start over under load, the data thread copies what
 * standbys lack into a tail file before the checkpoint, while nothing is written.
 */
import type { Database } from 'bun:sqlite'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { MIB } from '../../bytes.ts'
import { listAllFiles, readLogState } from '../files/manifest.ts'
import { temporaryFolder } from '../files/parquet.ts'
import { openReader } from './sqlite.ts'
import {
  frameBytes,
  frameOffset,
  isNextRun,
  LOG_HEADER_BYTES,
  type LogIndex,
  readBytes,
  readLockedFile,
  readLogIndex,
} from './write-ahead-log.ts'

/** The databases that a standby copies. */
export const SHIPPED_DATABASES = ['events', 'control'] as const

export type ShippedDatabase = (typeof SHIPPED_DATABASES)[number]

/** The last frame that a standby has; null for one that has nothing. */
export type FramePosition = { readonly salts: string; readonly frames: number }

/** A file that the manifest names. */
export type ShippedFile = {
  readonly project_id: number
  readonly id: string
  readonly byte_count: number
  readonly sha256: string
}

/** Frames of a run, from one that a standby lacks; their bytes follow in the answer. */
export type ShippedLog = {
  /** Identifies this start of the server, from which `change` counts. */
  readonly boot: string
  readonly salts: string
  readonly page_bytes: number
  /** The log's header, hexadecimal; empty while the run has no frame. */
  readonly header: string
  readonly from: number
  readonly until: number
  /** True when `until` is everything, and `change` belongs to it. */
  readonly is_end: boolean
  readonly change: number
  /** As of `until`; null when something is left to be sent, or for control.db. */
  readonly manifest_version: number | null
  /** All files of that version; null when the standby has the list. */
  readonly files: readonly ShippedFile[] | null
}

/** Bytes of frames in one answer. */
const ANSWER_BYTES_MAX = 4 * MIB
/** The time without a request after which a standby no longer holds the log back. */
const SILENT_MS = 10_000
/** Commits go on while a reading transaction begins: it is begun again until it is at a known frame. */
const HOLD_ATTEMPTS_MAX = 50
/** Tail files that are kept, of at most the size of the log each. */
const TAILS_MAX = 4
/** Standbys that are remembered. */
const STANDBYS_MAX = 16
/** A tail file begins with a line of JSON, padded to this. */
const TAIL_HEAD_BYTES = 512

/** A reading transaction of events.db. */
type ReadHold = { readonly db: Database; readonly index: LogIndex }

type FollowingStandby = {
  readonly salts: string
  readonly frames: number
  readonly seen_ms: number
  /** Bytes of the log that it had not received when it asked. */
  readonly behind_bytes: number
}

/** Opened with the server; reads nothing until a standby asks. */
export class LogShipping {
  readonly #data_dir: string
  readonly #boot = crypto.randomUUID()
  readonly #standbys = new Map<string, FollowingStandby>()
  #hold: ReadHold | null = null
  #spare: Database | null = null
  #silence: Timer | null = null

  constructor(data_dir: string) {
    this.#data_dir = data_dir
  }

  /** Standbys that asked lately, by their id. */
  list(): readonly {
    readonly id: string
    readonly seen_s: number
    readonly behind_bytes: number
  }[] {
    return [...this.#standbys].map(([id, { seen_ms, behind_bytes }]) => ({
      id,
      seen_s: (performance.now() - seen_ms) / 1000,
      behind_bytes,
    }))
  }

  /** Reads the commits after a position, with their bytes. Null when the database is not open, as during a stop. */
  read(
    database: ShippedDatabase,
    standby: string,
    position: FramePosition | null,
    manifest_version: number,
  ): { readonly log: ShippedLog; readonly bytes: Uint8Array } | null {
    const path = this.#path(database)
    const held = database === 'events' ? this.#holdAt(position, manifest_version) : null
    const index = held?.index ?? readLogIndex(path)
    if (index === null) return null
    if (database === 'events') this.#note(standby, position, index)
    const tail = position === null ? null : this.#readTail(position, index)
    if (tail !== null) return tail
    const is_known = position?.salts === index.salts && position.frames <= index.frames
    const from = is_known ? position.frames : 0
    const until = Math.min(index.frames, from + framesPerAnswer(index.page_bytes))
    const is_end = until === index.frames
    const shown = is_end ? (held?.manifest ?? null) : null
    const log: ShippedLog = {
      boot: this.#boot,
      salts: index.salts,
      page_bytes: index.page_bytes,
      header:
        index.frames === 0
          ? ''
          : (readBytes(`${path}-wal`, 0, LOG_HEADER_BYTES)?.toString('hex') ?? ''),
      from,
      until,
      is_end,
      change: index.change,
      manifest_version: shown?.version ?? null,
      files: shown?.files ?? null,
    }
    return { log, bytes: readFrames(`${path}-wal`, frameOffset(0, index.page_bytes), log) }
  }

  /** Reads a part of a database file: shorter at its end. It may be changed meanwhile; the log has what changed. */
  readPages(database: ShippedDatabase, offset: number, length: number): Uint8Array {
    return readLockedFile(this.#path(database), offset, length) ?? new Uint8Array(0)
  }

  /**
   * Called before the log of events.db is made to start over: lets go of it. Returns the frame from which standbys lack
   * it; null when none follows.
   */
  release(): number | null {
    this.#dropHold()
    const index = readLogIndex(this.#path('events'))
    if (index === null) return null
    const lacking = [...this.#standbys.values()].flatMap(({ seen_ms, salts, frames }) => {
      if (performance.now() - seen_ms > SILENT_MS) return []
      if (salts === index.salts) return [frames]
      return isNextRun(salts, index.salts) ? [0] : []
    })
    return lacking.length === 0 ? null : Math.min(...lacking)
  }

  close(): void {
    if (this.#silence !== null) clearTimeout(this.#silence)
    this.#dropHold()
    this.#spare?.close()
    this.#spare = null
  }

  #path(database: ShippedDatabase): string {
    return join(this.#data_dir, `${database}.db`)
  }

  #note(id: string, position: FramePosition | null, index: LogIndex): void {
    const is_current = position?.salts === index.salts
    const frames = is_current ? position.frames : 0
    // Remembered in the order of their last query.
    this.#standbys.delete(id)
    this.#standbys.set(id, {
      salts: is_current || position === null ? index.salts : position.salts,
      frames,
      seen_ms: performance.now(),
      behind_bytes: (index.frames - frames) * frameBytes(index.page_bytes),
    })
    const [oldest] = this.#standbys.keys()
    if (this.#standbys.size > STANDBYS_MAX && oldest !== undefined) this.#standbys.delete(oldest)
    if (this.#silence !== null) clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#dropHold(), SILENT_MS)
    this.#silence.unref()
  }

  /**
   * Moves the hold to the last commit, and reads the manifest in that transaction. The new hold begins before the old
   * one ends, so that the log cannot start over between them. A log that is sent and checkpointed whole needs no hold:
   * the standby has all of it when it starts over.
   */
  #holdAt(position: FramePosition | null, known_version: number) {
    const path = this.#path('events')
    const before = this.#hold
    for (let attempt = 0; attempt < HOLD_ATTEMPTS_MAX; attempt += 1) {
      const index = readLogIndex(path)
      if (index === null) return null
      const db = this.#spare ?? openReader(path)
      this.#spare = null
      const manifest = beginReading(db, known_version)
      const after = readLogIndex(path)
      if (after?.salts !== index.salts || after.frames !== index.frames) {
        db.run('rollback')
        this.#spare = db
        continue
      }
      const is_sent = position?.salts === index.salts && position.frames === index.frames
      const is_held = before?.index.salts === index.salts && before.index.frames === index.frames
      const is_over = is_sent && index.frames_checkpointed === index.frames
      if (is_over || is_held) {
        db.run('rollback')
        this.#spare = db
        if (is_over) this.#dropHold()
      } else {
        this.#dropHold()
        this.#hold = { db, index }
      }
      return { index, manifest }
    }
    return null
  }

  #dropHold(): void {
    if (this.#hold === null) return
    const { db } = this.#hold
    this.#hold = null
    db.run('rollback')
    if (this.#spare === null) this.#spare = db
    else db.close()
  }

  /** Reads on in a run that is over, or begins the one after it; null when neither was kept. */
  #readTail({ salts, frames }: FramePosition, index: LogIndex) {
    const folder = tailsFolder(this.#data_dir)
    const names = existsSync(folder) ? readdirSync(folder) : []
    const own = names.includes(salts) ? readTailHead(join(folder, salts)) : null
    if (own !== null && frames >= own.from && frames < own.until) {
      return this.#readFromTail(own, frames)
    }
    if (salts === index.salts || isNextRun(salts, index.salts)) return null
    const next = names.find((name) => isNextRun(salts, name))
    const head = next === undefined ? null : readTailHead(join(folder, next))
    return head?.from === 0 ? this.#readFromTail(head, 0) : null
  }

  #readFromTail(head: TailHead, from: number) {
    const until = Math.min(head.until, from + framesPerAnswer(head.page_bytes))
    const log: ShippedLog = {
      ...head,
      boot: this.#boot,
      from,
      until,
      is_end: until === head.until,
      manifest_version: null,
      files: null,
    }
    const start = TAIL_HEAD_BYTES - head.from * frameBytes(head.page_bytes)
    return { log, bytes: readFrames(join(tailsFolder(this.#data_dir), head.salts), start, log) }
  }
}

/** Begins the transaction of a hold. One that fails is closed: left open, it would hold back the log for ever. */
function beginReading(db: Database, known_version: number) {
  try {
    db.run('begin')
    return readManifest(db, known_version)
  } catch (error) {
    db.close()
    throw error
  }
}

function readManifest(db: Database, known_version: number) {
  const { version } = readLogState(db)
  if (version === known_version) return { version, files: null }
  const files = listAllFiles(db).map(({ project_id, id, byte_count, sha256 }) => ({
    project_id,
    id,
    byte_count,
    sha256,
  }))
  return { version, files }
}

/** Reads frames from a file where the run's frame 0 would be at `start`. */
function readFrames(
  path: string,
  start: number,
  { from, until, page_bytes }: ShippedLog,
): Uint8Array {
  if (from === until) return new Uint8Array(0)
  const bytes = frameBytes(page_bytes)
  return readBytes(path, start + from * bytes, (until - from) * bytes) ?? new Uint8Array(0)
}

const framesPerAnswer = (page_bytes: number): number =>
  Math.floor(ANSWER_BYTES_MAX / frameBytes(page_bytes))

const tailsFolder = (data_dir: string): string => join(temporaryFolder(data_dir), 'log-tails')

type TailHead = Pick<ShippedLog, 'change' | 'from' | 'header' | 'page_bytes' | 'salts' | 'until'>

/**
 * Copies the log of a database from a frame on, so that it may start over. Called on the data thread, the only writer:
 * nothing is committed meanwhile.
 */
export function keepLogTail(path: string, from: number): void {
  const index = readLogIndex(path)
  if (index === null || index.frames <= from) return
  const { salts, page_bytes, change, frames: until } = index
  const log = `${path}-wal`
  const header = readBytes(log, 0, LOG_HEADER_BYTES)?.toString('hex') ?? ''
  const length = (until - from) * frameBytes(page_bytes)
  const frames = readBytes(log, frameOffset(from, page_bytes), length)
  if (frames === null || frames.length < length) return
  const head: TailHead = { salts, page_bytes, header, from, until, change }
  const folder = tailsFolder(dirname(path))
  mkdirSync(folder, { recursive: true })
  const line = JSON.stringify(head).padEnd(TAIL_HEAD_BYTES)
  const fresh = join(folder, 'new')
  writeFileSync(fresh, Buffer.concat([Buffer.from(line), frames]))
  renameSync(fresh, join(folder, salts))
  const byAge = readdirSync(folder)
    .map((name) => ({ name, changed_ms: statSync(join(folder, name)).mtimeMs }))
    .toSorted((a, b) => b.changed_ms - a.changed_ms)
  for (const { name } of byAge.slice(TAILS_MAX)) rmSync(join(folder, name))
}

function readTailHead(path: string): TailHead | null {
  const line = readBytes(path, 0, TAIL_HEAD_BYTES)
  return line === null || line.length < TAIL_HEAD_BYTES ? null : JSON.parse(line.toString())
}
