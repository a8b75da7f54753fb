/** A checkpoint thread: a Worker that checkpoints the write-ahead log of one database on request. */
import type { Database } from 'bun:sqlite'
import { openWriter } from './sqlite.ts'

declare const self: Worker

/** Main thread → checkpoint thread. */
export type ToCheckpointThread =
  | { readonly kind: 'open'; readonly path: string }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'truncate' }
  | { readonly kind: 'close' }

/** Checkpoint thread → main thread. `pages_left` are still in the log because commits went on meanwhile. */
export type FromCheckpointThread =
  | { readonly kind: 'checkpointed'; readonly pages: number; readonly pages_left: number }
  | { readonly kind: 'truncated'; readonly is_empty: boolean }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'closed' }

type CheckpointProgress = {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

let db: Database | null = null

self.addEventListener('message', (event: MessageEvent<ToCheckpointThread>) => {
  const message = event.data
  switch (message.kind) {
    case 'open':
      db = openWriter(message.path)
      // Waiting for a reader would make commits wait as well.
      db.run('pragma busy_timeout = 0')
      return
    case 'checkpoint':
      send(checkpoint())
      return
    case 'truncate':
      send(truncate())
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

function checkpoint(): FromCheckpointThread {
  try {
    const progress = db?.query<CheckpointProgress, []>('pragma wal_checkpoint(passive)').get()
    const pages = progress?.log ?? 0
    return { kind: 'checkpointed', pages, pages_left: pages - (progress?.checkpointed ?? 0) }
  } catch (error) {
    // Most likely a full disk: commits are safe in the log, and the next checkpoint includes them.
    return { kind: 'failed', message: String(error) }
  }
}

/** Gives the log's space back if all of it is checkpointed, so that nothing is copied while commits wait. */
function truncate(): FromCheckpointThread {
  const progress = checkpoint()
  if (progress.kind !== 'checkpointed') return progress
  if (progress.pages_left > 0) return { kind: 'truncated', is_empty: false }
  const result = db?.query<CheckpointProgress, []>('pragma wal_checkpoint(truncate)').get()
  return { kind: 'truncated', is_empty: result?.busy === 0 }
}
