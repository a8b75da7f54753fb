/** The Landlock rules of the worker: which files it may reach, and how. */
import { nativeFolder } from '../../../storage/duckdb/duckdb-native.ts'
import { filesFolder, gatheredFolder } from '../../../storage/files/parquet.ts'
import type { PathRule, Right } from '../../../storage/process/confinement/landlock.ts'
import { eventLogRules, READ, WRITE } from '../../../storage/process/confinement/path-rules.ts'

/** Creating and removing directory entries: files of the manifest are hard-linked, and keep their rights. */
const CHANGE_ENTRIES: readonly Right[] = [
  'make_dir',
  'make_reg',
  'make_sym',
  'refer',
  'remove_dir',
  'remove_file',
]

/** Lists the rules; control.db, cache.db and all other folders have none. */
export function queryPathRules(
  data_dir: string,
  { work_dir, spill_dir }: { readonly work_dir: string; readonly spill_dir: string },
): readonly PathRule[] {
  return [
    ...eventLogRules(data_dir),
    { path: filesFolder(data_dir), rights: [...READ, 'refer'] },
    { path: gatheredFolder(data_dir), rights: READ },
    { path: nativeFolder(data_dir), rights: READ },
    { path: work_dir, rights: [...READ, ...CHANGE_ENTRIES] },
    { path: spill_dir, rights: WRITE },
  ]
}
