/**
 * The file format of SQLite's write-ahead log and of its index, as far as a copy of a database needs them. A *run* is
 * the content of the log from one restart to the next; all its frames carry the run's salts.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'

export const LOG_HEADER_BYTES = 32
export const FRAME_HEADER_BYTES = 24

/** The first word of a log whose checksums are computed over little-endian words. */
const LITTLE_ENDIAN_MAGIC = 0x377f0682

/** The index: 48 bytes twice, then how many frames are in the database file. */
const INDEX_HEADER_BYTES = 48
const INDEX_BYTES = 2 * INDEX_HEADER_BYTES + 4
/** A writer changes the two copies one after the other: a read between them is repeated. */
const INDEX_READS_MAX = 100

/** Everything committed at one moment. */
export type LogIndex = {
  /** Both salts of the run, hexadecimal. */
  readonly salts: string
  readonly page_bytes: number
  /** Committed frames of the run. */
  readonly frames: number
  /** Grows by one with each commit, also across runs, until the last connection closes. */
  readonly change: number
  /** Frames that are in the database file too. When all are, the next commit may begin a new run. */
  readonly frames_checkpointed: number
}

/** The running checksum of a log: of all frames of its run up to one. */
export type LogChecksum = readonly [number, number]

export const frameBytes = (page_bytes: number): number => FRAME_HEADER_BYTES + page_bytes

/** Where a frame begins in the file; frames count from 0. */
export const frameOffset = (frame: number, page_bytes: number): number =>
  LOG_HEADER_BYTES + frame * frameBytes(page_bytes)

/** Reads the index of a database that a connection of this machine has open; null when there is none. */
export function readLogIndex(database: string): LogIndex | null {
  for (let attempt = 0; attempt < INDEX_READS_MAX; attempt += 1) {
    const bytes = readLockedFile(`${database}-shm`, 0, INDEX_BYTES)
    if (bytes === null || bytes.length < INDEX_BYTES || bytes[12] !== 1) return null
    const first = bytes.subarray(0, INDEX_HEADER_BYTES)
    if (!first.equals(bytes.subarray(INDEX_HEADER_BYTES, 2 * INDEX_HEADER_BYTES))) continue
    const page = bytes.readUInt16LE(14)
    return {
      salts: bytes.toString('hex', 32, 40),
      page_bytes: page === 1 ? 65_536 : page,
      frames: bytes.readUInt32LE(16),
      change: bytes.readUInt32LE(8),
      frames_checkpointed: bytes.readUInt32LE(2 * INDEX_HEADER_BYTES),
    }
  }
  return null
}

/** Reads a part of a file; shorter at its end, null without the file. Not for files that a connection of this process locks. */
export function readBytes(
  path: string,
  offset: number,
  length: number,
): Buffer<ArrayBuffer> | null {
  const fd = tryOpen(path)
  if (fd === null) return null
  try {
    return readFrom(fd, offset, length)
  } finally {
    closeSync(fd)
  }
}

/**
 * Descriptors of files on which SQLite holds locks in this process: databases and indexes, by path. They are never closed,
 * since closing any descriptor of a file ends all locks that the process has on it (POSIX): other processes would
 * then truncate the index under a running server. An index is made for each life of its database, so a
 * process that opens a folder again and again keeps a descriptor for each.
 */
const never_closed = new Map<string, { readonly fd: number; readonly inode: number }>()

/** Reads a part of a database or of its index while this process may have it open. */
export function readLockedFile(
  path: string,
  offset: number,
  length: number,
): Buffer<ArrayBuffer> | null {
  const inode = statSync(path, { throwIfNoEntry: false })?.ino
  if (inode === undefined) return null
  const opened = never_closed.get(path)
  if (opened?.inode === inode) return readFrom(opened.fd, offset, length)
  const fd = tryOpen(path)
  if (fd === null) return null
  never_closed.set(path, { fd, inode: fstatSync(fd).ino })
  return readFrom(fd, offset, length)
}

function readFrom(fd: number, offset: number, length: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const more = readSync(fd, bytes, read, length - read, offset + read)
    if (more === 0) break
    read += more
  }
  return bytes.subarray(0, read)
}

function tryOpen(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch {
    return null
  }
}

/** Whether one run follows directly on another: the first salt counts runs. */
export function isNextRun(salts: string, next: string): boolean {
  return (countOf(salts) + 1) % 2 ** 32 === countOf(next)
}

const countOf = (salts: string): number => Number.parseInt(salts.slice(0, 8), 16)

/** The checksum that a run's first frame continues. Null for bytes that are no header of this run. */
export function readRunStart(header: Buffer, salts: string): LogChecksum | null {
  if (header.length !== LOG_HEADER_BYTES) return null
  if (header.readUInt32BE(0) !== LITTLE_ENDIAN_MAGIC) return null
  if (header.toString('hex', 16, 24) !== salts) return null
  return [header.readUInt32BE(24), header.readUInt32BE(28)]
}

type CheckedFrames = {
  readonly commits: number
  readonly checksum: LogChecksum
}

/**
 * Checks that frames continue a run: salts, and SQLite's checksum, which covers all frames before. Null when they do
 * not. `frames` must have a whole number of frames.
 */
export function checkFrames(
  frames: Buffer,
  run: { readonly salts: string; readonly page_bytes: number; readonly checksum: LogChecksum },
): CheckedFrames | null {
  const stride = frameBytes(run.page_bytes)
  if (frames.length % stride !== 0) return null
  // Words can be read from an aligned copy only.
  const words = new Uint32Array(
    frames.buffer.slice(frames.byteOffset, frames.byteOffset + frames.length),
  )
  let [s0, s1] = run.checksum
  let commits = 0
  for (let offset = 0; offset < frames.length; offset += stride) {
    if (frames.toString('hex', offset + 8, offset + 16) !== run.salts) return null
    const add = (from: number, bytes: number): void => {
      const end = (from + bytes) / 4
      for (let word = from / 4; word < end; word += 2) {
        s0 = (s0 + (words[word] ?? 0) + s1) >>> 0
        s1 = (s1 + (words[word + 1] ?? 0) + s0) >>> 0
      }
    }
    add(offset, 8)
    add(offset + FRAME_HEADER_BYTES, run.page_bytes)
    const is_right =
      frames.readUInt32BE(offset + 16) === s0 && frames.readUInt32BE(offset + 20) === s1
    if (!is_right) return null
    if (pagesAfter(frames, offset) > 0) commits += 1
  }
  return { commits, checksum: [s0, s1] }
}

/** The page that a frame contains, from 1. */
export const pageOf = (frames: Buffer, offset: number): number => frames.readUInt32BE(offset)

/** The size of the database in pages after this frame's commit; 0 for a frame that ends none. */
export const pagesAfter = (frames: Buffer, offset: number): number =>
  frames.readUInt32BE(offset + 4)
