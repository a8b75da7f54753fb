/** Confines the shipping process: the event log and snapshot files to read, files of shipments to write. */
import { mkdirSync } from 'node:fs'
import { nativeFolder, unpackDuckDB } from '../../storage/duckdb/duckdb-native.ts'
import { filesFolder, temporaryFolder } from '../../storage/files/parquet.ts'
import { restartConfined } from '../../storage/process/confinement/confine.ts'
import type { PathRule, Right } from '../../storage/process/confinement/landlock.ts'
import { eventLogRules, READ, WRITE } from '../../storage/process/confinement/path-rules.ts'
import { shipmentsFolder } from '../shipment-files.ts'

const CHANGE_ENTRIES: readonly Right[] = ['make_dir', 'make_reg', 'remove_dir', 'remove_file']

/** The process gives up all files but those of its work, and the network where Landlock guards it. */
export async function confineShippingProcess(args: readonly string[]): Promise<void> {
  const [data_dir = '', confinement] = args
  if (confinement !== 'confined') return
  await unpackDuckDB(data_dir)
  restartConfined('shipping-process', args, pathRules(data_dir))
}

function pathRules(data_dir: string): readonly PathRule[] {
  const folders = [shipmentsFolder(data_dir), temporaryFolder(data_dir)]
  for (const folder of [...folders, filesFolder(data_dir)])
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  return [
    ...eventLogRules(data_dir),
    { path: nativeFolder(data_dir), rights: READ },
    { path: filesFolder(data_dir), rights: READ },
    ...folders.map((path) => ({ path, rights: [...READ, ...WRITE, ...CHANGE_ENTRIES] })),
  ]
}
