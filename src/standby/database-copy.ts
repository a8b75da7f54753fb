/**
 * A copy of one database of the primary. First the file is copied while it changes: page by page of different moments,
 * with all frames of the log since the run in which copying began, each of which contains a whole page. Once the file was
 * read to its end and every frame was received, file and logs together are the database at the last commit: a fuzzy
 * backup with redo. From then on frames are appended; those of a run that is over are written into the file.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { MIB } from '../bytes.ts'
import { syncPath } from '../storage/files/parquet.ts'
import { writeWhole } from '../storage/files/write-whole.ts'
import { STANDBY_NOTE } from '../storage/process/lock.ts'
import type { FramePosition, ShippedDatabase } from '../storage/sqlite/log-shipping.ts'
import {
  checkFrames,
  FRAME_HEADER_BYTES,
  frameBytes,
  frameOffset,
  isNextRun,
  LOG_HEADER_BYTES,
  type LogChecksum,
  pageOf,
  pagesAfter,
  readBytes,
  readRunStart,
} from '../storage/sqlite/write-ahead-log.ts'
import type { Primary, ReceivedLog } from './primary.ts'
import {
  copiedLogPath,
  copiesFolder,
  copyPath,
  type DatabaseCopyState,
  type LogRunState,
} from './state.ts'

/** The file is compared and copied in parts of this size. */
const PART_BYTES = MIB
/** Parts that are copied between two queries for the log. */
const PARTS_TOGETHER = 8
/**
 * The salts of a log without a frame. They are the same after each start of the primary until it writes, so they prove
 * nothing about what an earlier start of the primary wrote.
 */
const NO_RUN = '0'.repeat(16)
/** Frames that are written into the file at once. */
const FRAMES_TOGETHER = 1024

/** Names the files of a copy. */
type CopyName = {
  readonly data_dir: string
  readonly database: ShippedDatabase
  readonly number: number
}

/** The run that is being received. */
type Run = {
  readonly salts: string
  readonly page_bytes: number
  frames: number
  checksum: LogChecksum
  /** Commits in these frames. */
  commits: number
  /** The primary's count of commits when the run began; null until the primary has sent it with a known frame. */
  change_before: number | null
}

export class DatabaseCopy {
  readonly #name: CopyName
  readonly #path: string
  #run: Run | null = null
  /** Runs that are over, and not in the file yet. */
  #finished: readonly LogRunState[] = []
  /** The start of the primary to which `change_before` belongs. */
  #boot = ''
  /** Up to where the file is copied; null when all of it is. */
  #offset: number | null = 0

  /** Begins a copy. It starts with the pages of an earlier copy, if there is one, and leaves that file as it is. */
  static begin(name: CopyName, before: DatabaseCopyState | null): DatabaseCopy {
    const { data_dir, database, number } = name
    mkdirSync(copiesFolder(data_dir), { recursive: true })
    const path = copyPath(data_dir, database, number)
    rmSync(path, { force: true })
    if (before === null) return new DatabaseCopy(name)
    try {
      copyFileSync(copyPath(data_dir, database, before.number), path, constants.COPYFILE_FICLONE)
    } catch (error) {
      // A part of it would keep a full disk full.
      rmSync(path, { force: true })
      throw error
    }
    return new DatabaseCopy(name)
  }

  /** Opens a copy as it was noted; bytes received later are cut off. */
  static reopen(name: CopyName, state: DatabaseCopyState): DatabaseCopy {
    const copy = new DatabaseCopy(name)
    const last = state.runs.at(-1)
    if (last === undefined) throw new Error(`${STANDBY_NOTE} names no run`)
    cutLog(copy.#path, last)
    copy.#finished = state.runs.slice(0, -1)
    copy.#run = { ...last, checksum: state.checksum, commits: 0, change_before: null }
    copy.#offset = null
    return copy
  }

  private constructor(name: CopyName) {
    this.#name = name
    this.#path = copyPath(name.data_dir, name.database, name.number)
  }

  get position(): FramePosition | null {
    return this.#run && { salts: this.#run.salts, frames: this.#run.frames }
  }

  /** False while parts of the file are to be copied. */
  get has_file(): boolean {
    return this.#offset === null
  }

  /** The state to note after `sync`. Call after a received log that had everything. */
  get state(): DatabaseCopyState | null {
    if (this.#run === null) return null
    const { salts, page_bytes, frames, checksum } = this.#run
    const runs = [...this.#finished, { salts, page_bytes, frames }]
    return { number: this.#name.number, runs, checksum }
  }

  /** Appends received bytes. False when they do not continue this copy: then another one has to be begun. */
  take({ log, frames }: ReceivedLog): boolean {
    // An answer that was cut off is asked for again, which only a run that has begun can do.
    if (frames.length !== (log.until - log.from) * frameBytes(log.page_bytes))
      return this.#run !== null
    if (this.#run === null || log.salts !== this.#run.salts) {
      if (!this.#beginRun(log)) return false
    } else if (log.from !== this.#run.frames || this.#isOfAnotherBoot(log)) {
      return false
    }
    const run = this.#run
    if (run === null) return false
    if (this.#boot !== log.boot) run.change_before = null
    this.#boot = log.boot
    if (frames.length > 0 && !this.#append(run, log, frames)) return false
    if (!log.is_end) return true
    // The count of commits proves that the run before had no commit which was not received.
    const change_before = log.change - run.commits
    if (run.change_before === null) run.change_before = change_before
    return run.change_before === change_before
  }

  /** Copies some parts of the primary's file, if it is not copied yet. */
  async copyParts(primary: Pick<Primary, 'readPages'>, signal: AbortSignal): Promise<void> {
    for (let part = 0; part < PARTS_TOGETHER && this.#offset !== null; part += 1) {
      const own = readBytes(this.#path, this.#offset, PART_BYTES)
      const is_comparable = own !== null && own.length === PART_BYTES
      const sha256 = is_comparable ? hashOf(own) : null
      const range = { length: PART_BYTES, sha256 }
      const pages = await primary.readPages(this.#name.database, this.#offset, range, signal)
      if (pages !== null) this.#writePart(this.#offset, pages)
      const is_last = pages !== null && pages.length < PART_BYTES
      this.#offset = is_last ? null : this.#offset + PART_BYTES
    }
    if (this.#offset === null) syncPath(this.#path)
  }

  /** Syncs the received bytes to the disk. */
  sync(): void {
    if (this.#run === null) return
    const log = copiedLogPath(this.#path, this.#run.salts)
    if (existsSync(log)) syncPath(log)
    syncPath(copiesFolder(this.#name.data_dir))
  }

  /**
   * Writes runs that are over into the file; only when the noted state has all of them, so that the file never has more
   * than is noted. Returns whether the state has changed: the caller notes it, and only then removes the runs' logs.
   */
  applyFinished(): boolean {
    if (this.#finished.length === 0) return false
    for (const run of this.#finished) applyLog(this.#path, run)
    this.#finished = []
    return true
  }

  /** Deletes the files of a copy that is given up, which no noted state names. */
  remove(): void {
    if (this.#run !== null) rmSync(copiedLogPath(this.#path, this.#run.salts), { force: true })
    for (const { salts } of this.#finished)
      rmSync(copiedLogPath(this.#path, salts), { force: true })
    rmSync(this.#path, { force: true })
  }

  #writePart(offset: number, pages: Uint8Array): void {
    const fd = openSync(this.#path, existsSync(this.#path) ? 'r+' : 'w+')
    try {
      writeWhole(fd, pages, offset)
      // The file of the copy before may have been longer.
      if (pages.length < PART_BYTES) ftruncateSync(fd, offset + pages.length)
    } finally {
      closeSync(fd)
    }
  }

  /** Whether an empty log belongs to another start of the primary than the copy: commits between the two may be missing. */
  #isOfAnotherBoot({ salts, boot }: ReceivedLog['log']): boolean {
    return salts === NO_RUN && boot !== this.#boot
  }

  /** The next run of the same primary, or the first one of this copy. */
  #beginRun(log: ReceivedLog['log']): boolean {
    if (log.from !== 0) return false
    const before = this.#run
    let change_before: number | null = null
    if (before !== null) {
      const is_next = before.salts === NO_RUN || isNextRun(before.salts, log.salts)
      if (!is_next || this.#boot !== log.boot || before.change_before === null) return false
      change_before = before.change_before + before.commits
      const { salts, page_bytes, frames } = before
      if (frames > 0) this.#finished = [...this.#finished, { salts, page_bytes, frames }]
    }
    const { salts, page_bytes } = log
    this.#run = { salts, page_bytes, frames: 0, checksum: [0, 0], commits: 0, change_before }
    rmSync(copiedLogPath(this.#path, salts), { force: true })
    return true
  }

  #append(run: Run, log: ReceivedLog['log'], frames: Buffer<ArrayBuffer>): boolean {
    const header = Buffer.from(log.header, 'hex')
    const start = readRunStart(header, run.salts)
    if (start === null) return false
    const checksum = run.frames === 0 ? start : run.checksum
    const checked = checkFrames(frames, { ...run, checksum })
    if (checked === null) return false
    const path = copiedLogPath(this.#path, run.salts)
    const fd = openSync(path, run.frames === 0 ? 'w' : 'r+')
    try {
      if (run.frames === 0) writeWhole(fd, header.subarray(0, LOG_HEADER_BYTES), 0)
      writeWhole(fd, frames, frameOffset(run.frames, run.page_bytes))
    } finally {
      closeSync(fd)
    }
    run.frames = log.until
    run.checksum = checked.checksum
    run.commits += checked.commits
    return true
  }
}

/**
 * Writes the pages of a log into the database file, and syncs it. Doing it again changes nothing. Cuts off what is beyond
 * the last commit's size.
 */
export function applyLog(database: string, { salts, page_bytes, frames }: LogRunState): void {
  if (frames === 0) return
  const log = copiedLogPath(database, salts)
  const fd = openSync(database, 'r+')
  try {
    let pages = 0
    for (let first = 0; first < frames; first += FRAMES_TOGETHER) {
      const count = Math.min(FRAMES_TOGETHER, frames - first)
      const length = count * frameBytes(page_bytes)
      const bytes = readBytes(log, frameOffset(first, page_bytes), length)
      if (bytes === null || bytes.length < length) throw new Error(`${log} is shorter than noted`)
      for (let offset = 0; offset < length; offset += frameBytes(page_bytes)) {
        const page = bytes.subarray(offset + FRAME_HEADER_BYTES, offset + frameBytes(page_bytes))
        writeWhole(fd, page, (pageOf(bytes, offset) - 1) * page_bytes)
        pages = pagesAfter(bytes, offset) || pages
      }
    }
    const size = pages * page_bytes
    if (pages > 0 && statSync(database).size > size) ftruncateSync(fd, size)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Cuts off frames that were received after the state was noted. */
function cutLog(database: string, { salts, page_bytes, frames }: LogRunState): void {
  if (frames > 0) truncateSync(copiedLogPath(database, salts), frameOffset(frames, page_bytes))
}

const hashOf = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
