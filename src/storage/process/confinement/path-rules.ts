/** The Landlock rules that every process has which reads the event log, and the rights that their other rules share. */
import { join } from 'node:path'
import type { PathRule, Right } from './landlock.ts'

export const READ: readonly Right[] = ['read_file', 'read_dir']
export const WRITE: readonly Right[] = ['truncate', 'write_file']

/** Lists the rules of a process that reads events.db. */
export function eventLogRules(data_dir: string): readonly PathRule[] {
  const log = join(data_dir, 'events.db')
  return [
    { path: log, rights: READ },
    { path: `${log}-wal`, rights: READ },
    // A SQLite reader writes its read mark there, so that a checkpoint waits for it.
    { path: `${log}-shm`, rights: [...READ, ...WRITE] },
  ]
}
