/** The Landlock rules of the worker: which files it may reach, and how. */
import { join } from 'node:path'
import { nativeFolder } from '../../../storage/duckdb/duckdb-native.ts'
import { filesFolder, gatheredFolder } from '../../../storage/files/parquet.ts'
import type { PathRule, Right } from '../../../storage/process/confinement/landlock.ts'

const READ: readonly Right[] = ['read_file', 'read_dir']
/** Creating and removing directory entries: files of the manifest are hard-linked, and keep their rights. */
const CHANGE_ENTRIES: readonly Right[] = [
  'make_dir',
  'make_reg',
  'make_sym',
  'refer',
  'remove_dir',
  'remove_file',
]
const WRITE: readonly Right[] = ['truncate', 'write_file']

/** Lists the rules; control.db, cache.db and all other folders have none. */
export function queryPathRules(
  data_dir: string,
  { work_dir, spill_dir }: { readonly work_dir: string; readonly spill_dir: string },
): readonly PathRule[] {
  const log = join(data_dir, 'events.db')
  return [
    { path: log, rights: READ },
    { path: `${log}-wal`, rights: READ },
    // A SQLite reader writes its read mark there, so that a checkpoint waits for it.
    { path: `${log}-shm`, rights: [...READ, ...WRITE] },
    { path: filesFolder(data_dir), rights: [...READ, 'refer'] },
    { path: gatheredFolder(data_dir), rights: READ },
    { path: nativeFolder(data_dir), rights: READ },
    { path: work_dir, rights: [...READ, ...CHANGE_ENTRIES] },
    { path: spill_dir, rights: WRITE },
  ]
}
