/** Starts Workers while the server runs, where the machine has the file handles that they take. */
import { closeSync, openSync } from 'node:fs'

/**
 * File handles that must be free. In `new Worker` without one, Bun ends the whole process, which nothing can catch. A
 * Worker takes two; the others are for threads that open files at this moment.
 */
const FREE_FILES_MIN = 16

/** Starts a Worker from the address of its file; null where too few file handles are free. */
export function tryStartThread(url: string, options: WorkerOptions = {}): Worker | null {
  return areFilesFree() ? new Worker(url, options) : null
}

function areFilesFree(): boolean {
  const files: number[] = []
  try {
    while (files.length < FREE_FILES_MIN) files.push(openSync('/dev/null', 'r'))
    return true
  } catch {
    return false
  } finally {
    for (const file of files) closeSync(file)
  }
}
