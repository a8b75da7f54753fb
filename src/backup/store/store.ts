/** BackupStore: a folder or a bucket with the files of backups by checksum, and one list per backup. */
import { BackupFault } from '../fill-folder.ts'

/** A store that cannot be reached or refuses; what it has may be sound. */
export class StoreFault extends BackupFault {}

/**
 * A store of backups. Its keys are `files/<sha256>` and `backups/<time>.json`. All calls reject with a StoreFault that
 * names the store when it cannot be reached or refuses.
 */
export type BackupStore = {
  /** The store as its users write it. */
  readonly name: string
  /** The sizes in bytes of the files in one folder of the store, by their names in it. */
  list(folder: StoreFolder): Promise<ReadonlyMap<string, number>>
  /** The bytes of one key. Neither links nor devices are read. */
  read(key: string): AsyncIterable<Uint8Array>
  /** Stores a local file; the key is there when all of it is stored, or is not there. */
  write(key: string, path: string): Promise<void>
  remove(key: string): Promise<void>
}

type StoreFolder = 'backups' | 'files'

/** Address and credentials of a bucket: an empty endpoint means Amazon's, an empty session token none. */
export type BucketAccess = {
  readonly endpoint: string | null
  readonly region: string
  readonly key_id: string | null
  readonly secret: string | null
  readonly session_token: string | null
}
