/** The room on the disk of the data folder. */
import { statfsSync } from 'node:fs'
import type { DiskSpace } from '../http/app-context.ts'

/** Returns a function that reads the disk's figures now; one system call. */
export function diskReader(data_dir: string, free_bytes_min: number): { read: () => DiskSpace } {
  return {
    read() {
      const { bavail, blocks, bsize } = statfsSync(data_dir)
      return { bytes: blocks * bsize, free_bytes: bavail * bsize, free_bytes_min }
    },
  }
}
