/** The server's handle of a worker process: starts it, exchanges frames with it, kills it, deletes its folder. */

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { MIB } from '../../bytes.ts'
import { temporaryFolder } from '../../storage/files/parquet.ts'
import { childCommand, ignoreClosedPipe, tryStart } from '../../storage/process/spawn-self.ts'
import {
  encodeMessage,
  type FromQueryProcess,
  frameReader,
  type ProcessOptions,
  type ToQueryProcess,
} from './protocol.ts'

/** The reason why the server killed the worker. */
export type KillReason =
  | 'closed'
  | 'exhausted'
  | 'fault'
  | 'idle'
  | 'memory'
  | 'unresponsive'
  | 'worn'

export type ChildExit = {
  /** Null when the worker died by itself. */
  readonly reason: KillReason | null
  readonly was_ready: boolean
  readonly exit_code: number | null
  readonly signal: string | null
  /** The end of its standard error. */
  readonly last_words: string
}

type ChildEvents = {
  readonly onMessage: (head: FromQueryProcess, rest: Uint8Array) => void
  /** Called once, after its last message was received. */
  readonly onDeath: (death: ChildExit) => void
}

export type ChildOptions = Omit<ProcessOptions, 'work_dir'> & {
  /** Calls into the engine that may block at the same time. */
  readonly blocking_calls_max: number
}

const PAGE_BYTES = 4096
const MEMORY_WATCH_MS = 50
/** A closed pipe ends the worker at once; otherwise it is killed after this time. */
const CLOSE_TIME_MS = 1000
const LAST_WORDS_LENGTH = 2000
/** A worker that the machine could not start is reported as dead after this time: the engine may start the next one at once, and would loop. */
const FAILED_START_MS = 200

type QueryChildProcess = Bun.Subprocess<'pipe', 'pipe', 'pipe'>

export class QueryChild {
  readonly #events: ChildEvents
  readonly #memory_mb: number
  readonly #work_dir: string
  /** Null where the machine had no file or process left for it. */
  readonly #process: QueryChildProcess | null
  readonly #died = Promise.withResolvers<void>()
  #reason: KillReason | null = null
  #is_ready = false
  #memory_watch: Timer | null = null

  /** `number` tells the work folders of successive processes apart. */
  constructor(options: ChildOptions, number: number, events: ChildEvents) {
    this.#events = events
    this.#memory_mb = options.memory_mb
    this.#work_dir = join(temporaryFolder(options.data_dir), `query-${process.pid}-${number}`)
    const started = tryStart(() => startProcess(options, this.#work_dir))
    this.#process = started instanceof Error ? null : started
    if (started instanceof Error) {
      setTimeout(() => this.#end(null, started.message), FAILED_START_MS)
    } else void this.#run(started)
  }

  /** The folder that queries spill into, with one folder per open project. */
  get spill_dir(): string {
    return join(this.#work_dir, 'spill')
  }

  /** 0 where none could be started. */
  get pid(): number {
    return this.#process?.pid ?? 0
  }

  /** True after its first message. */
  get is_ready(): boolean {
    return this.#is_ready
  }

  /** Sends a message. One to a worker that has just died is lost: `onDeath` follows, and the engine requeues the query. */
  send(message: ToQueryProcess): void {
    const stdin = this.#process?.stdin
    if (stdin === undefined) return
    void ignoreClosedPipe(async () => {
      await Promise.all([...encodeMessage(message).map((part) => stdin.write(part)), stdin.flush()])
    })
  }

  kill(reason: KillReason): void {
    this.#reason ??= reason
    this.#process?.kill('SIGKILL')
  }

  /** Resolves when the worker has exited and its folder is deleted. */
  async close(): Promise<void> {
    this.#reason ??= 'closed'
    const timer = setTimeout(() => this.kill('closed'), CLOSE_TIME_MS)
    await ignoreClosedPipe(async () => this.#process?.stdin.end())
    await this.#died.promise
    clearTimeout(timer)
  }

  async #run(running: QueryChildProcess): Promise<void> {
    const last_words = tail(running.stderr)
    const read = frameReader<FromQueryProcess>()
    for await (const bytes of running.stdout) {
      for (const { head, rest } of read(bytes)) this.#receive(head, rest)
    }
    await running.exited
    if (this.#memory_watch !== null) clearInterval(this.#memory_watch)
    removeFolder(this.#work_dir)
    this.#end(running, await last_words)
  }

  #end(ended: QueryChildProcess | null, last_words: string): void {
    const signal = ended?.signalCode ?? null
    this.#died.resolve()
    this.#events.onDeath({
      reason: this.#reason,
      was_ready: this.#is_ready,
      exit_code: ended?.exitCode ?? null,
      signal: signal === null ? null : String(signal),
      last_words,
    })
  }

  #receive(head: FromQueryProcess, rest: Uint8Array): void {
    if (head.kind === 'ready') {
      this.#is_ready = true
      if (!head.memory_is_limited) this.#watchMemory()
    }
    this.#events.onMessage(head, rest)
  }

  /** Polls the memory of a worker that could not limit itself, and kills it above the limit. */
  #watchMemory(): void {
    const bytes_max = (residentBytes(this.pid) ?? 0) + this.#memory_mb * MIB
    this.#memory_watch = setInterval(() => {
      if ((residentBytes(this.pid) ?? 0) > bytes_max) this.kill('memory')
    }, MEMORY_WATCH_MS)
  }
}

function startProcess(options: ChildOptions, work_dir: string): QueryChildProcess {
  const process_options: ProcessOptions = { ...options, work_dir }
  return Bun.spawn({
    cmd: [...childCommand(['query-process', JSON.stringify(process_options)])],
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      // Each blocking call into DuckDB holds a libuv thread; with fewer, a short query would wait for long ones.
      UV_THREADPOOL_SIZE: String(options.blocking_calls_max),
      // Bun must not report crashes over the network.
      BUN_ENABLE_CRASH_REPORTING: '0',
      DO_NOT_TRACK: '1',
    },
  })
}

/** Removes a folder; the next start of the server removes what cannot be removed now. */
function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {}
}

/** Null where there is no such file. */
function residentBytes(pid: number): number | null {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]
    return Number(pages) * PAGE_BYTES
  } catch {
    return null
  }
}

async function tail(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of stream) text = (text + decoder.decode(bytes)).slice(-LAST_WORDS_LENGTH)
  return text.trim()
}
