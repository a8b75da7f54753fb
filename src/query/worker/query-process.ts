/** The worker process's entry point: refuses system calls, limits its memory, then answers frames on standard input and output. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { MIB } from '../../bytes.ts'
import { prepareDuckDB } from '../../storage/duckdb/duckdb-native.ts'
import type { Confinement } from '../../storage/process/confinement/confine.ts'
import {
  encodeFrame,
  type FromQueryProcess,
  messageReader,
  type ProcessOptions,
} from '../engine/protocol.ts'
import { completeConfinement, ignoreSignals, spillFolder } from './confine-query.ts'
import { limitMemory } from './limits/memory-limit.ts'
import { boundThreads } from './limits/opening-room.ts'
import { findMacroFile, macroFolders } from './macro-file.ts'

/** DuckDB spills at this share of the memory, well below the kernel's limit. */
const ENGINE_SHARE = 0.7
/** DuckDB keeps the address space of freed memory, so the kernel's limit must exceed the memory in use. */
const ADDRESS_SHARE = 1.5
const ADDRESS_MB = 128

const UNCONFINED: Confinement = { landlock: 0, seccomp: false }

/** Runs until the server closes the pipe or dies. */
export async function runQueryProcess(args: readonly string[]): Promise<never> {
  ignoreSignals()
  const options = JSON.parse(args[0] ?? '') as ProcessOptions
  const spill_dir = spillFolder(options.work_dir)
  const confinement = options.is_confined ? completeConfinement(args) : UNCONFINED
  prepareDuckDB(options.data_dir)
  const { QueryDispatcher } = await import('./dispatch.ts')

  const out = Bun.stdout.writer()
  const send = (head: FromQueryProcess, rest: readonly Uint8Array[] = []): void => {
    for (const part of encodeFrame(head, rest)) void out.write(part)
    void out.flush()
  }
  const address_mb = Math.ceil(options.memory_mb * ADDRESS_SHARE) + ADDRESS_MB
  const instance = {
    memory_mb: Math.floor(options.memory_mb * ENGINE_SHARE),
    threads: boundThreads(options.threads, address_mb * MIB),
    spill_dir,
    spill_mb: options.spill_mb,
  }
  const macro_file = findMacroFile(macroFolders(options.data_dir))
  const dispatcher = new QueryDispatcher({ ...options, instance, macro_file }, send)
  const addresses = limitMemory(address_mb)
  dispatcher.watchAddresses(addresses)
  send({ kind: 'ready', memory_is_limited: addresses !== null, confinement })

  const read = messageReader()
  for await (const bytes of Bun.stdin.stream()) {
    for (const message of read(bytes)) void dispatcher.handle(message)
  }
  for (const name of readdirSync(options.work_dir)) {
    rmSync(join(options.work_dir, name), { recursive: true, force: true })
  }
  // An ordinary exit would wait for running queries.
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}
