/** Confines the snapshot process: the event log to read, files to write, and nothing else of the data folder. */
import { mkdirSync } from 'node:fs'
import { nativeFolder, unpackDuckDB } from '../../storage/duckdb/duckdb-native.ts'
import { filesFolder, temporaryFolder } from '../../storage/files/parquet.ts'
import { restartConfined } from '../../storage/process/confinement/confine.ts'
import type { PathRule, Right } from '../../storage/process/confinement/landlock.ts'
import { eventLogRules, READ, WRITE } from '../../storage/process/confinement/path-rules.ts'

/** Files are renamed from one folder into the other. */
const CHANGE_ENTRIES: readonly Right[] = [
  'make_dir',
  'make_reg',
  'refer',
  'remove_dir',
  'remove_file',
]

/** With a data folder as its argument, the process gives up all other files, and the network where Landlock guards it. */
export async function confineSnapshotProcess(args: readonly string[]): Promise<void> {
  const [confined_dir] = args
  if (confined_dir === undefined) return
  await unpackDuckDB(confined_dir)
  restartConfined('snapshot-process', args, snapshotPathRules(confined_dir))
}

/** Lists the rules, and makes the folders: a rule for a folder that is not there grants nothing. */
function snapshotPathRules(data_dir: string): readonly PathRule[] {
  const folders = [filesFolder(data_dir), temporaryFolder(data_dir)]
  for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
  return [
    ...eventLogRules(data_dir),
    { path: nativeFolder(data_dir), rights: READ },
    ...folders.map((path) => ({ path, rights: [...READ, ...WRITE, ...CHANGE_ENTRIES] })),
  ]
}
