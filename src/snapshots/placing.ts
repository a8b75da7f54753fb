/** A file's way to its name on disk: written, read back, forced to disk, renamed (contract C6). */
import { chmodSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { filePath, projectFolder, sha256Of, syncPath } from '../storage/parquet.ts'
import { type FaultPoint, reach } from './faults.ts'
import { syncWhileWritten } from './growing.ts'

/** What every piece of work that writes files is told. */
export type PlaceOptions = {
  readonly data_dir: string
  /** A folder of this process alone, on the same file system as the files. */
  readonly work_dir: string
  readonly fault: FaultPoint | null
}

/** Writes a file under the path it is given, and throws when it does not read back as what was meant. */
export type FileWriter = {
  readonly project_id: number
  readonly write: (path: string) => Promise<void>
  readonly readBack: (path: string) => Promise<void>
}

/** A file under its name. */
export type Placed = {
  readonly id: string
  readonly byte_count: number
  readonly sha256: string
}

type Draft = FileWriter & { readonly temporary: string; readonly path: string }

type Step = { readonly reached: FaultPoint; readonly run: (draft: Draft) => Promise<void> }

/** Every step may be the last one; none leaves a file under its name that is not whole. */
const STEPS: readonly Step[] = [
  { reached: 'copied', run: copy },
  { reached: 'read_back', run: ({ readBack, temporary }) => readBack(temporary) },
  { reached: 'synced', run: async ({ temporary }) => syncPath(temporary) },
  { reached: 'renamed', run: giveName },
  { reached: 'folder_synced', run: async ({ path }) => syncPath(dirname(path)) },
]

/** Resolves when the file is whole and under its name on disk; nobody knows of it yet. */
export async function place(
  writer: FileWriter,
  { data_dir, work_dir, fault }: PlaceOptions,
): Promise<Placed> {
  const id = Bun.randomUUIDv7()
  const temporary = join(work_dir, `${id}.parquet`)
  const path = filePath(data_dir, { project_id: writer.project_id, id })
  const folder = projectFolder(data_dir, writer.project_id)
  if (mkdirSync(folder, { recursive: true }) !== undefined) syncPath(dirname(folder))
  for (const step of STEPS) {
    await step.run({ ...writer, temporary, path })
    reach(step.reached, fault)
  }
  return { id, byte_count: statSync(path).size, sha256: await sha256Of(path) }
}

async function copy({ write, temporary }: Draft): Promise<void> {
  await syncWhileWritten(temporary, () => write(temporary))
}

async function giveName({ temporary, path }: Draft): Promise<void> {
  // Never changed again, by anybody.
  chmodSync(temporary, 0o400)
  renameSync(temporary, path)
}
