/** Snapshot files on disk: paths, a cheap damage check, checksums and fsync. */
import { closeSync, existsSync, fsyncSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of all snapshot files. */
export function filesFolder(data_dir: string): string {
  return join(data_dir, 'files')
}

export function projectFolder(data_dir: string, project_id: number): string {
  return join(filesFolder(data_dir), String(project_id))
}

/** The syntax of file ids: a path made from one stays in its project's folder. */
const FILE_ID = /^[\w-]{1,64}$/

/** The path of a snapshot file. Throws for an invalid id, which a foreign database may contain. */
export function filePath(data_dir: string, file: { project_id: number; id: string }): string {
  if (!FILE_ID.test(file.id)) throw new Error(`${JSON.stringify(file.id)} is no id of a file`)
  return join(projectFolder(data_dir, file.project_id), `${file.id}.parquet`)
}

/** The path of a snapshot file; null for an invalid project or id. */
export function findFilePath(
  data_dir: string,
  file: { project_id: number; id: string },
): string | null {
  const is_project = Number.isSafeInteger(file.project_id) && file.project_id > 0
  return is_project && FILE_ID.test(file.id) ? filePath(data_dir, file) : null
}

/** The path of the marker beside a file whose checksum did not match. */
export function damageMark(path: string): string {
  return `${path}.damaged`
}

/** The folder of unfinished files; emptied at start. */
export function temporaryFolder(data_dir: string): string {
  return join(data_dir, 'tmp')
}

/** The folder of rows that another engine gathered for the queries of a project; a file lives as long as its query. */
export function gatheredFolder(data_dir: string, project_id?: number): string {
  const folder = join(temporaryFolder(data_dir), 'gathered')
  return project_id === undefined ? folder : join(folder, String(project_id))
}

/** A Parquet file begins and ends with this; the length of the footer precedes the last one. */
const MAGIC = 'PAR1'
const TRAILER_BYTES = 8

/**
 * Checks the size, the footer's length and the damage marker. Returns a description of the damage, or null. DuckDB does
 * not notice flipped bytes; `damageOf` compares checksums and sets the marker.
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

/** Computes the checksum of a file, as a stream, so that the event loop is not blocked. */
export async function sha256Of(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256')
  for await (const piece of Bun.file(path).stream()) hash.update(piece)
  return hash.digest('hex')
}

/** Fsyncs a file, or a folder's entries; DuckDB and rename do neither. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
