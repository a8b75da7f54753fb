/** Snapshot files on disk: where they lie, whether they are whole, and how a rename is made to last. */
import { createHash } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Where every snapshot file lies. */
export function filesFolder(data_dir: string): string {
  return join(data_dir, 'files')
}

export function projectFolder(data_dir: string, project_id: number): string {
  return join(filesFolder(data_dir), String(project_id))
}

/** What a file's id consists of, so that a path made with it stays in its project's folder. */
const FILE_ID = /^[\w-]{1,64}$/

/** Where a snapshot file is. Throws for an id that is none of ours: a foreign database may name what it likes. */
export function filePath(data_dir: string, file: { project_id: number; id: string }): string {
  if (!FILE_ID.test(file.id)) throw new Error(`${JSON.stringify(file.id)} is no id of a file`)
  return join(projectFolder(data_dir, file.project_id), `${file.id}.parquet`)
}

/** Lies beside a file whose content was found to be damaged, until the file is whole again. */
export function damageMark(path: string): string {
  return `${path}.damaged`
}

/** Where unfinished work lies; swept at start. */
export function temporaryFolder(data_dir: string): string {
  return join(data_dir, 'tmp')
}

/** A Parquet file begins and ends with this; before the last one stands the length of the footer. */
const MAGIC = 'PAR1'
const TRAILER_BYTES = 8

/**
 * Checks what is cheap to check: the size, a footer that can be one, and whether somebody who compared the
 * checksum has left a mark. Returns what is wrong, or null. DuckDB itself does not notice flipped bytes.
 */
export function findDamage(path: string, byte_count: number): string | null {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 'is missing'
  if (stat.size !== byte_count) return `has ${stat.size} bytes instead of ${byte_count}`
  if (existsSync(damageMark(path))) return 'does not match its checksum'
  const trailer = readTrailer(path, stat.size)
  if (trailer.subarray(4).toString('latin1') !== MAGIC) return 'has no Parquet footer'
  if (trailer.readUInt32LE(0) > stat.size - TRAILER_BYTES) return 'has a damaged Parquet footer'
  return null
}

function readTrailer(path: string, size: number): Buffer {
  const trailer = Buffer.alloc(TRAILER_BYTES)
  const fd = openSync(path, 'r')
  try {
    readSync(fd, trailer, 0, TRAILER_BYTES, Math.max(0, size - TRAILER_BYTES))
  } finally {
    closeSync(fd)
  }
  return trailer
}

/** The checksum of a whole file, read piece by piece so that nothing else waits for it. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of Bun.file(path).stream()) hash.update(piece)
  return hash.digest('hex')
}

/** Forces a file, or the names in a folder, to the disk; DuckDB and rename do neither. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
