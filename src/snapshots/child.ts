/** Starts a snapshot process for one piece of work, and reads its results. */

import type { FileRow } from '../storage/log/event-log.ts'
import { killWhenStalled } from '../storage/process/kill-stalled.ts'
import { lowerPriority } from '../storage/process/lower-priority.ts'
import { childCommand, ignoreClosedPipe } from '../storage/process/spawn-self.ts'
import type { SnapshotLine, SnapshotWork } from './protocol.ts'
import type { ReplicaChange } from './writer/write-replica.ts'

/** The files that a process reported, and the last event or change that it wrote. */
export type SnapshotReport = {
  readonly files: readonly FileRow[]
  readonly replica: ReplicaChange | null
  readonly last_seq: number
}

/** The running snapshot processes, which the server kills when it stops. */
export class SnapshotChildren {
  readonly #confined_dir: string | null
  readonly #running = new Set<Bun.Subprocess>()
  #is_killed = false

  /** Processes reach only the files of the data folder `confined_dir`; null for no confinement. */
  constructor(confined_dir: string | null) {
    this.#confined_dir = confined_dir
  }

  /** True once stopped: nothing is started, and failures are expected. */
  get is_killed(): boolean {
    return this.#is_killed
  }

  /** Rejects unless the process reported `done`. */
  async run(work: SnapshotWork): Promise<SnapshotReport> {
    if (this.#is_killed) throw new Error('the server is stopping')
    const child = Bun.spawn({
      cmd: [
        ...childCommand([
          'snapshot-process',
          ...(this.#confined_dir === null ? [] : [this.#confined_dir]),
        ]),
      ],
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      // Bun must not report crashes over the network.
      env: { BUN_ENABLE_CRASH_REPORTING: '0', DO_NOT_TRACK: '1' },
    })
    // At once: threads that start later have the priority of the one that starts them.
    if (work.kind !== 'write' || !work.is_urgent) lowerPriority(child.pid)
    this.#running.add(child)
    const stopWatching = killWhenStalled(child)
    try {
      // On standard input, because a command line is too short for the columns of many files.
      const { stdin } = child
      const [sent, last_words] = await Promise.all([
        child.stdout.text(),
        child.stderr.text(),
        ignoreClosedPipe(() =>
          Promise.all([stdin.write(`${JSON.stringify(work)}\n`), stdin.flush()]),
        ),
      ])
      return readLines(sent, await child.exited, last_words)
    } finally {
      stopWatching()
      this.#running.delete(child)
    }
  }

  /** Kills them; the next start deletes their unfinished files. */
  kill(): void {
    this.#is_killed = true
    for (const child of this.#running) child.kill('SIGKILL')
  }
}

/** A stack of the bundle names its whole path in each line; the reason stands before it. */
const LAST_WORDS_LENGTH = 2000

function readLines(sent: string, exit_code: number, last_words: string): SnapshotReport {
  const lines = sent
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as SnapshotLine)
  const done = lines.at(-1)
  if (exit_code !== 0 || done?.kind !== 'done') {
    const words = last_words.trim().slice(-LAST_WORDS_LENGTH)
    throw new Error(`snapshot process ended with ${exit_code}: ${words}`)
  }
  const files = lines.flatMap((line) => (line.kind === 'file' ? [line.file] : []))
  const replicas = lines.flatMap((line) => (line.kind === 'replica' ? [line.step] : []))
  return { files, replica: replicas[0] ?? null, last_seq: done.last_seq }
}
