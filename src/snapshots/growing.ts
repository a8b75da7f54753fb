/** Brings a file to the disk while it is written: one large sync at its end would hold up those that senders wait for. */
import { type FileHandle, open } from 'node:fs/promises'

const MIB = 1024 * 1024

/** What may wait for the disk. The log's syncs stand behind it, so it is what the disk writes in some milliseconds. */
const UNSYNCED_BYTES_MAX = 4 * MIB
/** Between two looks at a file's size. */
const LOOK_EVERY_MS = 20

/** Runs `write` and syncs the file under `path` as it grows. Resolves to how much of it was synced; the end is not. */
export async function syncWhileWritten(path: string, write: () => Promise<void>): Promise<number> {
  const writing = write()
  try {
    return await syncUntil(writing.then(ignore, ignore), path)
  } finally {
    // Whoever hears of a failure finds the file written to by nobody.
    await writing
  }
}

async function syncUntil(ended: Promise<void>, path: string): Promise<number> {
  let file: FileHandle | null = null
  let synced = 0
  try {
    while (!(await hasEndedWithin(LOOK_EVERY_MS, ended))) {
      file ??= await openOnceThere(path)
      const size = file === null ? 0 : (await file.stat()).size
      if (size - synced < UNSYNCED_BYTES_MAX) continue
      // A failure is told only once, here: the sync at the end would not hear of it.
      await file?.datasync()
      synced = size
    }
  } finally {
    await file?.close()
  }
  return synced
}

async function hasEndedWithin(milliseconds: number, ended: Promise<void>): Promise<boolean> {
  return Promise.race([ended.then(() => true), Bun.sleep(milliseconds).then(() => false)])
}

async function openOnceThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

function ignore(): void {}
