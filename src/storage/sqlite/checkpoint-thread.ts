/** A checkpoint thread: a Worker that checkpoints the write-ahead log of one database on request. */
import type { Database } from 'bun:sqlite'
import { fdatasyncSync, openSync } from 'node:fs'
import { DamagedDatabase, isFailedSync, openWriter, requireUndamaged } from './sqlite.ts'

declare const self: Worker

/** Main thread → checkpoint thread. */
export type ToCheckpointThread =
  | { readonly kind: 'open'; readonly path: string }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'sync' }
  | { readonly kind: 'truncate' }
  /** Reads the whole database; answered only when it is damaged. */
  | { readonly kind: 'check' }
  | { readonly kind: 'close' }

/** Checkpoint thread → main thread. `pages_left` are still in the log because commits went on meanwhile. */
export type FromCheckpointThread =
  | { readonly kind: 'checkpointed'; readonly pages: number; readonly pages_left: number }
  /** The database file has most of the log on the disk. */
  | { readonly kind: 'synced' }
  | { readonly kind: 'truncated'; readonly is_empty: boolean }
  | { readonly kind: 'failed'; readonly message: string }
  /** The database file could not be synced: no checkpoint may follow. */
  | { readonly kind: 'unsynced'; readonly message: string }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'closed' }

type CheckpointProgress = {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

let path = ''
let db: Database | null = null
/** A descriptor of the database file, once one was needed. Never closed: that would release SQLite's locks on the file. */
let database_fd: number | null = null

self.addEventListener('message', (event: MessageEvent<ToCheckpointThread>) => {
  const message = event.data
  switch (message.kind) {
    case 'open':
      path = message.path
      return
    case 'checkpoint':
      send(checkpoint())
      return
    case 'sync':
      send(syncDatabase())
      return
    case 'truncate':
      send(truncate())
      return
    case 'check':
      check()
      return
    case 'close':
      db?.close(true)
      db = null
      send({ kind: 'closed' })
  }
})

function send(message: FromCheckpointThread): void {
  self.postMessage(message, [])
}

/** Opens the database at the first checkpoint, and again at the next one where a full disk did not let it. */
function openDatabase(): Database {
  if (db !== null) return db
  const opened = openWriter(path)
  // Waiting for a reader would make commits wait as well.
  opened.run('pragma busy_timeout = 0')
  db = opened
  return db
}

function checkpoint(): FromCheckpointThread {
  try {
    const progress = openDatabase()
      .query<CheckpointProgress, []>('pragma wal_checkpoint(passive)')
      .get()
    const pages = progress?.log ?? 0
    return { kind: 'checkpointed', pages, pages_left: pages - (progress?.checkpointed ?? 0) }
  } catch (error) {
    // Most likely a full disk: commits are safe in the log, and the next checkpoint includes them.
    return describeFailure(error)
  }
}

function check(): void {
  try {
    requireUndamaged(path)
  } catch (error) {
    // Any other error says nothing about the file.
    if (error instanceof DamagedDatabase) send({ kind: 'damaged', message: error.message })
  }
}

function describeFailure(error: unknown): FromCheckpointThread {
  return { kind: isFailedSync(error) ? 'unsynced' : 'failed', message: String(error) }
}

/**
 * Brings what checkpoints have copied to the disk, which SQLite itself does only in the checkpoint that ends the log: tens
 * of megabytes, for which commits would wait 80 ms. Another checkpoint copies what was committed meanwhile.
 */
function syncDatabase(): FromCheckpointThread {
  try {
    database_fd ??= openSync(path, 'r')
    fdatasyncSync(database_fd)
    const progress = checkpoint()
    if (progress.kind !== 'checkpointed') return progress
    fdatasyncSync(database_fd)
    return { kind: 'synced' }
  } catch (error) {
    return describeFailure(error)
  }
}

/** Gives the log's space back if all of it is checkpointed, so that nothing is copied while commits wait. */
function truncate(): FromCheckpointThread {
  const progress = checkpoint()
  if (progress.kind !== 'checkpointed') return progress
  if (progress.pages_left > 0) return { kind: 'truncated', is_empty: false }
  try {
    const result = openDatabase()
      .query<CheckpointProgress, []>('pragma wal_checkpoint(truncate)')
      .get()
    return { kind: 'truncated', is_empty: result?.busy === 0 }
  } catch (error) {
    return describeFailure(error)
  }
}
