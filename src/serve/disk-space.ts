/** The room on the disk of the data folder. */
import { accessSync, constants, statfsSync } from 'node:fs'
import { KIB } from '../bytes.ts'
import type { DataDisk } from '../http/app-context.ts'

/** More than the shared memory of the databases, which has a page for each thousand pages of a write-ahead log. */
const START_FREE_BYTES_MIN = 512 * KIB

/**
 * Throws ENOSPC where the disk has no room for a start. SQLite writes its shared memory (`-shm`) through a mapped file, and
 * a file system that finds no block at such a write ends the process by a bus error.
 */
export function requireRoom(data_dir: string): void {
  const { bavail, blocks, bsize } = statfsSync(data_dir)
  const free_bytes = bavail * bsize
  // Some network file systems do not tell their size.
  if (blocks === 0 || free_bytes >= START_FREE_BYTES_MIN) return
  const message = `a start needs ${START_FREE_BYTES_MIN / KIB} KiB, and the disk of ${data_dir} has ${Math.floor(free_bytes / KIB)}`
  throw Object.assign(new Error(message), { code: 'ENOSPC' })
}

/** Returns the disk of a data folder, which is looked at by each call: one system call. */
export function diskReader(data_dir: string, free_bytes_min: number): DataDisk {
  return {
    requireWritable: () => accessSync(data_dir, constants.W_OK),
    read() {
      const { bavail, blocks, bsize } = statfsSync(data_dir)
      return { bytes: blocks * bsize, free_bytes: bavail * bsize, free_bytes_min }
    },
  }
}
