/** Starts this same program once more as a child, from source as well as compiled. */
import { join } from 'node:path'

/** Inside a compiled executable every module lives below this made-up root. */
const COMPILED_ROOT = '/$bunfs/'

/** True in `dist/tidemark`, false under `bun src/main.ts` and `bun test`. */
function isCompiled(): boolean {
  return import.meta.dir.startsWith(COMPILED_ROOT)
}

/** The folder that holds `src` when this runs from source; null in `dist/tidemark`. */
export function sourceFolder(): string | null {
  return isCompiled() ? null : join(import.meta.dir, '../../..')
}

/**
 * The command line of this program with `args`, which begin with a command. Compiled, the executable is its own entry; from
 * source Bun must be told which file to run.
 */
export function ownCommand(args: readonly string[]): readonly string[] {
  const entry = isCompiled() ? [] : [join(import.meta.dir, '../../main.ts')]
  return [process.execPath, ...entry, ...args]
}

/** The command line of a child process: `args` begin with a hidden command, such as `query-process`. */
export function childCommand(args: readonly string[]): readonly string[] {
  const entry = isCompiled() ? [] : [join(import.meta.dir, '../../child.ts')]
  return [process.execPath, ...entry, ...args]
}

/** Starts a child. Returns the error where the machine has no free process or file handle for it. */
export function tryStart<Child>(start: () => Child): Child | Error {
  try {
    return start()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Runs a write to a child and ignores EPIPE: the child's exit is handled elsewhere. */
export async function ignoreClosedPipe(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error
  }
}
