/** A store of backups in an S3-compatible bucket, by the client that is part of Bun. */
import { statSync } from 'node:fs'
import { KIB, MIB } from '../../bytes.ts'
import { BackupFault } from '../fill-folder.ts'
import { type BackupStore, type BucketAccess, StoreFault } from './store.ts'

/** The protocol allows 10,000 parts of one object, each of at least 5 MiB. */
const PARTS_MAX = 9000
const PART_BYTES_MIN = 8 * MIB
/** Each waiting part is held in memory. */
const PARTS_AT_ONCE = 2
const RETRIES = 3

/** The longest time for a request, and the addition for each byte: a slower connection counts as broken. */
const PATIENCE_MS = 60_000
const BYTES_PER_MS_MIN = (32 * KIB) / 1000

/** Pages of a listing: a thousand keys each. */
const PAGES_MAX = 10_000

/** Opens the store below `prefix`, which is empty or ends with a slash. */
export function openBucket(bucket: string, prefix: string, access: BucketAccess): BackupStore {
  const name = `s3://${bucket}/${prefix}`
  const client = openClient(bucket, access, name)
  /** Rejects when the work fails or takes longer than its bytes may. */
  const attempt = async <Result>(work: Promise<Result>, bytes = 0): Promise<Result> => {
    const timeout_ms = PATIENCE_MS + bytes / BYTES_PER_MS_MIN
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => late.reject(new Error(`no answer within ${Math.round(timeout_ms / 1000)} s`)),
      timeout_ms,
    )
    try {
      return await Promise.race([work, late.promise])
    } catch (error) {
      throw new StoreFault(`${name}: ${describeError(error)}`)
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    name,
    async list(folder) {
      const sizes = new Map<string, number>()
      const inner = `${prefix}${folder}/`
      let continuationToken: string | undefined
      for (let page = 0; page < PAGES_MAX; page++) {
        const token = continuationToken === undefined ? {} : { continuationToken }
        const listed = await attempt(client.list({ prefix: inner, ...token }))
        for (const { key, size } of listed.contents ?? []) {
          sizes.set(key.slice(inner.length), size ?? 0)
        }
        if (listed.isTruncated !== true) return sizes
        continuationToken = listed.nextContinuationToken
      }
      throw new BackupFault(`${name}: more than ${PAGES_MAX} pages of keys`)
    },
    async *read(key) {
      const reader = client.file(`${prefix}${key}`).stream().getReader()
      try {
        for (;;) {
          const { done, value } = await attempt(reader.read())
          if (done) return
          yield value
        }
      } finally {
        void reader.cancel().catch(() => undefined)
      }
    },
    async write(key, path) {
      const bytes = statSync(path).size
      const partSize = Math.max(PART_BYTES_MIN, Math.ceil(bytes / PARTS_MAX))
      const options = { partSize, queueSize: PARTS_AT_ONCE, retry: RETRIES }
      await attempt(client.write(`${prefix}${key}`, Bun.file(path), options), bytes)
    },
    async remove(key) {
      await attempt(client.delete(`${prefix}${key}`))
    },
  }
}

function openClient(bucket: string, access: BucketAccess, name: string): Bun.S3Client {
  const { endpoint, region, key_id, secret, session_token } = access
  if (key_id === null || secret === null) {
    const names = 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
    throw new BackupFault(`${name} needs a key: set ${names} in the environment`)
  }
  return new Bun.S3Client({
    bucket,
    region,
    accessKeyId: key_id,
    secretAccessKey: secret,
    ...(endpoint === null ? {} : { endpoint }),
    ...(session_token === null ? {} : { sessionToken: session_token }),
  })
}

const DESCRIPTION_LENGTH_MAX = 300

/** The code and the message of an error of the protocol, shortened: a proxy may answer with a whole page. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : ''
  return `${code}${error.message}`.slice(0, DESCRIPTION_LENGTH_MAX)
}
