/** A store of backups in a folder of this machine, such as a mounted disk. */
import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncPath } from '../../storage/files/parquet.ts'
import { BackupFault } from '../fill-folder.ts'
import { type BackupStore, StoreFault } from './store.ts'

/** The suffix of a file's name until all of it is stored. */
const UNFINISHED = '.new'

/** Opens the store of a folder, which is made by the first backup. */
export function openFolderStore(folder: string): BackupStore {
  return {
    name: folder,
    async list(name) {
      const inner = join(folder, name)
      if (!isPlainFolder(inner)) return new Map()
      return new Map(
        readdirSync(inner).flatMap((file) => {
          const stat = lstatSync(join(inner, file), { throwIfNoEntry: false })
          return stat?.isFile() === true ? [[file, stat.size] as const] : []
        }),
      )
    },
    async *read(key) {
      const path = join(folder, key)
      requirePlainFolder(dirname(path))
      const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(
        (error: NodeJS.ErrnoException) => {
          const Fault = error.code === 'ELOOP' ? BackupFault : StoreFault
          throw new Fault(`${path} cannot be read: ${error.message}`)
        },
      )
      try {
        if (!(await file.stat()).isFile()) throw new BackupFault(`${path} is not a regular file`)
        for await (const bytes of file.createReadStream({ autoClose: false })) yield bytes
      } finally {
        await file.close()
      }
    },
    async write(key, from) {
      const path = join(folder, key)
      requireNoData(folder)
      mkdirSync(dirname(path), { recursive: true })
      requirePlainFolder(dirname(path))
      const unfinished = `${path}${UNFINISHED}`
      rmSync(unfinished, { force: true })
      try {
        copyFileSync(from, unfinished, constants.COPYFILE_EXCL)
        syncPath(unfinished)
        renameSync(unfinished, path)
      } catch (error) {
        // A part of it would keep a full disk full, which may be that of the data too.
        rmSync(unfinished, { force: true })
        throw error
      }
      for (const changed of [dirname(path), folder]) syncPath(changed)
    },
    async remove(key) {
      requirePlainFolder(dirname(join(folder, key)))
      rmSync(join(folder, key), { force: true })
    },
  }
}

function requireNoData(folder: string): void {
  if (!existsSync(join(folder, 'events.db'))) return
  throw new BackupFault(`${folder} is a data folder or a backup: name another one for the store`)
}

/** A store contains no links: they could lead anywhere. */
function isPlainFolder(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return false
  if (stat.isDirectory()) return true
  throw new BackupFault(`${path} is a link, or not a folder`)
}

function requirePlainFolder(path: string): void {
  if (!isPlainFolder(path)) throw new BackupFault(`${path} is missing`)
}
