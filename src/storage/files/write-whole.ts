/** Writes to files of which every byte counts. */
import { writeSync } from 'node:fs'

/**
 * Writes all bytes from the offset on, or throws. One `writeSync` writes fewer without an error where the disk is nearly
 * full: its count says so, and only the next call fails.
 */
export function writeWhole(fd: number, bytes: Uint8Array, offset: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(fd, bytes, written, bytes.length - written, offset + written)
  }
}
