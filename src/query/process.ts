/** The query process: started by the server as a child of itself, answers over its standard input and output. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepareDuckDB } from '../storage/duckdb-native.ts'
import { encodeFrame, type FromQueryProcess, frameReader, type ToQueryProcess } from './frames.ts'
import { limitMemory } from './memory-limit.ts'

/** What the server tells the query process on its command line, as one JSON text. */
export type ProcessOptions = {
  readonly data_dir: string
  /** A folder of this process alone; the server deletes it when the process has died. */
  readonly work_dir: string
  readonly memory_mb: number
  /** Disk that all queries may use together, when they do not fit into memory. */
  readonly spill_mb: number
  readonly threads: number
  readonly result_bytes_max: number
  readonly projects_max: number
  readonly spare_slots: number
}

/** DuckDB spills at this part of the memory, and the kernel's limit comes well after it. */
const ENGINE_SHARE = 0.7
/** DuckDB keeps the address space of what it frees, so the kernel's limit has to be wider than the use. */
const ADDRESS_SHARE = 1.5
const ADDRESS_MB = 128

/** Runs until the server closes the pipe or dies, which is the same here. */
export async function runQueryProcess(args: readonly string[]): Promise<never> {
  // Ctrl-C reaches the whole process group; the server decides when questions end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const options = JSON.parse(args[0] ?? '') as ProcessOptions
  prepareDuckDB(options.data_dir)
  const { Answers } = await import('./answers.ts')
  const spill_dir = join(options.work_dir, 'spill')
  mkdirSync(spill_dir, { recursive: true })

  const out = Bun.stdout.writer()
  const send = (head: FromQueryProcess, rest: readonly Uint8Array[] = []): void => {
    void out.write(encodeFrame(head, rest))
    void out.flush()
  }
  const instance = {
    memory_mb: Math.floor(options.memory_mb * ENGINE_SHARE),
    threads: options.threads,
    spill_dir,
    spill_mb: options.spill_mb,
  }
  const answers = new Answers({ ...options, instance }, send)
  const address_mb = Math.ceil(options.memory_mb * ADDRESS_SHARE) + ADDRESS_MB
  const addresses = limitMemory(address_mb)
  answers.watchAddresses(addresses)
  send({ kind: 'ready', memory_is_limited: addresses !== null })

  const read = frameReader<ToQueryProcess>()
  for await (const bytes of Bun.stdin.stream()) {
    for (const { head } of read(bytes)) void answers.handle(head)
  }
  rmSync(options.work_dir, { recursive: true, force: true })
  // An ordinary exit waits for questions that may never end.
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}
