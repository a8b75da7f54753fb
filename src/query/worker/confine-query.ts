/** Confines the worker process, in two steps: files before its program starts again, calls after it. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { prepareDuckDB, unpackDuckDB } from '../../storage/duckdb/duckdb-native.ts'
import {
  type Confinement,
  confineCalls,
  readConfinedArgument,
  restartConfined,
} from '../../storage/process/confinement/confine.ts'
import type { ProcessOptions } from '../engine/protocol.ts'
import { queryPathRules } from './limits/confined-paths.ts'
import { findMacroFile, macroFolders } from './macro-file.ts'

/** The options that name folders and the confinement. */
type ConfinedOptions = Pick<ProcessOptions, 'data_dir' | 'is_confined' | 'work_dir'>

/** Makes the files that a confined process can only read. Then, with Landlock, executes this program again and does not return. */
export async function confineQueryProcess(command: string, args: readonly string[]): Promise<void> {
  ignoreSignals()
  const { data_dir, work_dir, is_confined } = JSON.parse(args[0] ?? '') as ConfinedOptions
  const spill_dir = spillFolder(work_dir)
  mkdirSync(spill_dir, { recursive: true })
  if (is_confined) await unpackDuckDB(data_dir)
  await ensureMacroFile(data_dir)
  if (is_confined) restartConfined(command, args, queryPathRules(data_dir, { work_dir, spill_dir }))
}

/** Ctrl-C reaches the whole process group, but the server decides when queries end. */
export function ignoreSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
}

/** Refuses system calls from now on; returns what this process and the start before it reached. */
export function completeConfinement(args: readonly string[]): Confinement {
  return { landlock: readConfinedArgument(args) ?? 0, seccomp: confineCalls() }
}

/** The folder that queries spill into, with one folder per open project. */
export function spillFolder(work_dir: string): string {
  return join(work_dir, 'spill')
}

/** Loads DuckDB only when there is no file, since a confined process loads it again. */
async function ensureMacroFile(data_dir: string): Promise<void> {
  const folders = macroFolders(data_dir)
  if (findMacroFile(folders) !== null) return
  prepareDuckDB(data_dir)
  const { makeMacroFile } = await import('./make-macro-file.ts')
  await makeMacroFile(folders)
}
