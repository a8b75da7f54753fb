/** The snapshot job: notices when the log is long or old, has it written into files, and trims it (contract C6). */
import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { FileRow, NewFiles } from '../storage/event-log.ts'
import { type LogState, readLogState } from '../storage/manifest.ts'
import { filePath, sha256Of, temporaryFolder } from '../storage/parquet.ts'
import { selfCommand } from '../storage/self.ts'
import { openReader } from '../storage/sqlite.ts'
import type { FaultPoint } from './faults.ts'
import type { SnapshotLine, SnapshotOptions } from './process.ts'
import { sweepFiles } from './sweep.ts'

export type SnapshotSettings = {
  /** Events in the log that make a snapshot due. */
  readonly rows: number
  /** Age of the oldest event in the log that makes one due. */
  readonly age_s: number
  readonly memory_mb: number
}

/** What is written to the log; a pino logger fits. */
export type SnapshotLog = {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type SnapshotNeeds = {
  readonly data_dir: string
  readonly settings: SnapshotSettings
  /** The one writer of events.db. */
  readonly capture: {
    commitFiles(files: NewFiles): Promise<void>
    trim(up_to_seq: number): Promise<void>
  }
  /** Whoever reads files; the log is trimmed when it has taken the new manifest. */
  readonly readers: { adoptManifest(): Promise<void> }
  readonly log: SnapshotLog
  /** For tests: where the snapshot process is cut off. */
  readonly fault?: FaultPoint | null
}

export type SnapshotJob = {
  /** Looks after the log from now on, until `close`. */
  start(): void
  /** Writes a snapshot of everything committed, however little. Rejects when it cannot; nothing is lost then. */
  run(): Promise<void>
  /** Kills a snapshot under way; what it wrote is swept at the next start. */
  close(): Promise<void>
}

/** One snapshot takes at most this many events, so that its memory and its time stay bounded. */
const SNAPSHOT_ROWS_MAX = 1_000_000
const LOOK_MS = 1000
/** After a snapshot that failed (a full disk, say), the next is tried after this. */
const RETRY_MS = 30_000
const THREADS = 1

/** Opens a reader of its own; nothing happens before `start` or `run`. */
export function createSnapshotJob(needs: SnapshotNeeds): SnapshotJob {
  const db = openReader(join(needs.data_dir, 'events.db'))
  let writing: Bun.Subprocess | null = null
  let current: Promise<void> = Promise.resolve()
  let timer: Timer | null = null
  let is_closed = false

  /** One after the other, whoever asks. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = current.catch(() => undefined).then(() => (is_closed ? undefined : work()))
    current = turn
    return turn
  }
  const snapshot = (): Promise<void> =>
    takeSnapshot(db, needs, (child) => {
      writing = child
    })
  const look = async (): Promise<void> => {
    let pause_ms = LOOK_MS
    try {
      if (isDue(db, needs.settings)) await inTurn(snapshot)
    } catch (error) {
      if (!is_closed) needs.log.error({ err: error }, 'snapshot failed')
      pause_ms = RETRY_MS
    }
    if (!is_closed) timer = setTimeout(() => void look(), pause_ms)
  }

  return {
    start: () => void look(),
    run: () => inTurn(snapshot),
    async close() {
      is_closed = true
      if (timer !== null) clearTimeout(timer)
      writing?.kill('SIGKILL')
      await current.catch(() => undefined)
      db.close()
    },
  }
}

/** Also when files hold events that the log still has: a stop came between the two. */
function isDue(db: Database, settings: SnapshotSettings): boolean {
  const { seq, flushed_seq, trimmed_seq } = readLogState(db)
  if (trimmed_seq < flushed_seq || seq - flushed_seq >= settings.rows) return true
  const oldest = db
    .query<{ created_at: number }, [number]>(
      'select created_at from events where seq > ? order by seq limit 1',
    )
    .get(flushed_seq)
  return oldest !== null && Date.now() - oldest.created_at / 1000 >= settings.age_s * 1000
}

/** Rows → files → manifest → readers → trim. Each step may be the last one before a crash. */
async function takeSnapshot(
  db: Database,
  needs: SnapshotNeeds,
  onStart: (child: Bun.Subprocess | null) => void,
): Promise<void> {
  const { data_dir, capture, readers, log } = needs
  const started_at = performance.now()
  const state = readLogState(db)
  const up_to_seq = Math.min(state.seq, state.flushed_seq + SNAPSHOT_ROWS_MAX)
  if (up_to_seq > state.flushed_seq) {
    const files = await writeRange(needs, state, up_to_seq, onStart)
    for (const file of files) await requireChecksum(data_dir, file)
    await capture.commitFiles({ flushed_seq: up_to_seq, added: files, removed: [] })
    const rows = files.reduce((sum, file) => sum + file.row_count, 0)
    const bytes = files.reduce((sum, file) => sum + file.byte_count, 0)
    const ms = Math.round(performance.now() - started_at)
    log.info({ files: files.length, rows, bytes, ms, up_to_seq }, 'snapshot written')
  }
  await readers.adoptManifest()
  await capture.trim(up_to_seq)
}

async function writeRange(
  { data_dir, settings, fault }: SnapshotNeeds,
  { flushed_seq }: LogState,
  up_to_seq: number,
  onStart: (child: Bun.Subprocess | null) => void,
): Promise<readonly FileRow[]> {
  const work_dir = join(temporaryFolder(data_dir), `snapshot-${process.pid}`)
  const options: SnapshotOptions = {
    data_dir,
    work_dir,
    after_seq: flushed_seq,
    up_to_seq,
    fault: fault ?? null,
    memory_mb: settings.memory_mb,
    threads: THREADS,
  }
  const child = Bun.spawn({
    cmd: [...selfCommand('snapshot-process', [JSON.stringify(options)])],
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { BUN_ENABLE_CRASH_REPORTING: '0', DO_NOT_TRACK: '1' },
  })
  onStart(child)
  try {
    const [told, last_words] = await Promise.all([child.stdout.text(), child.stderr.text()])
    const exit_code = await child.exited
    return readLines(told, exit_code, last_words)
  } catch (error) {
    sweepFiles(data_dir)
    throw error
  } finally {
    onStart(null)
    rmSync(work_dir, { recursive: true, force: true })
  }
}

/** The files of a process that said it is done; anything else is an error. */
function readLines(told: string, exit_code: number, last_words: string): readonly FileRow[] {
  const lines = told
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as SnapshotLine)
  if (exit_code !== 0 || lines.at(-1)?.kind !== 'done') {
    throw new Error(`snapshot process ended with ${exit_code}: ${last_words.trim().slice(-500)}`)
  }
  return lines.flatMap((line) => (line.kind === 'file' ? [line.file] : []))
}

/** The first reading of a file under its name: what is trimmed next can be read again. */
async function requireChecksum(data_dir: string, file: FileRow): Promise<void> {
  if ((await sha256Of(filePath(data_dir, file))) === file.sha256) return
  throw new Error(`snapshot file ${file.id} does not read back as it was written`)
}
