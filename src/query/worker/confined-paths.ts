/** The files that the query process may reach, and how. */
import { join } from 'node:path'
import { filesFolder } from '../../storage/files/parquet.ts'
import type { PathRule, Right } from '../../storage/process/confinement/landlock.ts'

const READ: readonly Right[] = ['read_file', 'read_dir']
/** Making and removing names: files of the manifest are linked in, and keep their rights there. */
const ARRANGE: readonly Right[] = [
  'make_dir',
  'make_reg',
  'make_sym',
  'refer',
  'remove_dir',
  'remove_file',
]
const WRITE: readonly Right[] = ['truncate', 'write_file']

/** Nothing of control.db, the caches, or other folders. */
export function queryPathRules(
  data_dir: string,
  { work_dir, spill_dir }: { readonly work_dir: string; readonly spill_dir: string },
): readonly PathRule[] {
  const log = join(data_dir, 'events.db')
  return [
    { path: log, rights: READ },
    { path: `${log}-wal`, rights: READ },
    // A reader marks there what it reads, so that a checkpoint waits for it.
    { path: `${log}-shm`, rights: [...READ, ...WRITE] },
    { path: filesFolder(data_dir), rights: [...READ, 'refer'] },
    { path: join(data_dir, 'native'), rights: READ },
    { path: work_dir, rights: [...READ, ...ARRANGE] },
    { path: spill_dir, rights: WRITE },
  ]
}
