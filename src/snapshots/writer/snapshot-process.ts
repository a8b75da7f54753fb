/** The snapshot process's entry point: reads one piece of work, writes files, reports them, and ends. */
import type { Database } from 'bun:sqlite'
import { mkdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { prepareDuckDB } from '../../storage/duckdb/duckdb-native.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import { openReader } from '../../storage/sqlite/sqlite.ts'
import type { SnapshotLine, SnapshotWork } from '../protocol.ts'
import { verifyFiles } from './verify.ts'

/** Ends with exit code 0 after `done`; otherwise its reports must be ignored. */
export async function runSnapshotProcess(): Promise<never> {
  const work = await receiveWork()
  const db = openReader(join(work.data_dir, 'events.db'))
  const last_seq = await workOn(work, db, (file) => send({ kind: 'file', file }))
  send({ kind: 'done', last_seq })
  process.exit(0)
}

async function workOn(
  work: SnapshotWork,
  db: Database,
  post: (file: FileRow) => void,
): Promise<number> {
  if (work.kind === 'verify') {
    await verifyFiles(db, work.data_dir, post)
    return 0
  }
  prepareDuckDB(work.data_dir)
  const { openInstance } = await import('../../storage/duckdb/duckdb.ts')
  mkdirSync(work.work_dir, { recursive: true })
  const instance = await openInstance({ ...work, spill_dir: join(work.work_dir, 'spill') })
  const connection = await instance.connect()
  switch (work.kind) {
    case 'write': {
      const { writeFiles } = await import('./write.ts')
      return writeFiles(db, connection, work, post)
    }
    case 'compact': {
      const { compactFiles } = await import('./compact.ts')
      await compactFiles(db, connection, work, post)
      return 0
    }
    case 'replica': {
      const { writeReplica } = await import('./write-replica.ts')
      return writeReplica(db, connection, work, (step) => send({ kind: 'replica', step }))
    }
    case 'find_removed': {
      const { findRemoved } = await import('./remove.ts')
      await findRemoved(db, connection, work, post)
      return 0
    }
    case 'remove': {
      const { writeWithoutRemoved } = await import('./remove.ts')
      await writeWithoutRemoved(db, connection, work, post)
      return 0
    }
  }
}

/** Writes synchronously, because an exit does not wait for a stream. */
function send(line: SnapshotLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

/** Ends this process when the pipe closes, because the server has died. */
function receiveWork(): Promise<SnapshotWork> {
  return new Promise((resolve) => {
    void receive(Bun.stdin.stream(), (line) => resolve(JSON.parse(line) as SnapshotWork))
  })
}

async function receive(
  input: ReadableStream<Uint8Array>,
  onFirstLine: (line: string) => void,
): Promise<void> {
  const decoder = new TextDecoder()
  let text = ''
  let has_work = false
  for await (const bytes of input) {
    if (has_work) continue
    text += decoder.decode(bytes, { stream: true })
    const end = text.indexOf('\n')
    if (end < 0) continue
    has_work = true
    onFirstLine(text.slice(0, end))
  }
  process.kill(process.pid, 'SIGKILL')
}
