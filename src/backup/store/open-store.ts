/** Opens the store that a setting names. */
import { openBucket } from './bucket-store.ts'
import { openFolderStore } from './folder-store.ts'
import type { BackupStore, BucketAccess } from './store.ts'

/** The address of a store. The prefix of a bucket is empty or ends with a slash. */
type StoreAddress =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'bucket'; readonly bucket: string; readonly prefix: string }

/** Opens a store; nothing is read or made until it is used. Throws a BackupFault for a bucket without keys. */
export function openStore(address: StoreAddress, access: BucketAccess): BackupStore {
  return address.kind === 'folder'
    ? openFolderStore(address.folder)
    : openBucket(address.bucket, address.prefix, access)
}
