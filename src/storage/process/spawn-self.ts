/** Starts this same program once more as a child, from source as well as compiled, and never another version of it. */
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { memoizeValue } from '../../memoize.ts'

/** Inside a compiled executable every module lives below this made-up root. */
const COMPILED_ROOT = '/$bunfs/'

/** The kernel's name for the file that this process runs, also when another one has its path by now. */
const RUNNING_FILE = '/proc/self/exe'

/** The modules that children may load; those of the web interface are built for its pages only. */
const MODULES = new Bun.Glob('**/*.{ts,js}')
const WEB_FOLDER = 'web/'

/** True in `dist/tidemark`, false under `bun src/main.ts` and `bun test`. */
function isCompiled(): boolean {
  return import.meta.dir.startsWith(COMPILED_ROOT)
}

/** The folder that holds `src` when this runs from source; null in `dist/tidemark`. */
export function sourceFolder(): string | null {
  return isCompiled() ? null : join(import.meta.dir, '../../..')
}

/** The file to execute: an upgrade renames the next executable over the one that runs, which children must not be of. */
export function programPath(): string {
  const { execPath } = process
  return isCompiled() && !isRunning(execPath) ? RUNNING_FILE : execPath
}

function isRunning(path: string): boolean {
  const file = statSync(path, { throwIfNoEntry: false })
  const running = statSync(RUNNING_FILE, { throwIfNoEntry: false })
  return running === undefined || (file?.ino === running.ino && file.dev === running.dev)
}

/**
 * The command line of this program with `args`, which begin with a command. Compiled, the executable is its own entry; from
 * source Bun must be told which file to run.
 */
export function ownCommand(args: readonly string[]): readonly string[] {
  const entry = isCompiled() ? [] : [join(import.meta.dir, '../../main.ts')]
  return [programPath(), ...entry, ...args]
}

/**
 * The command line of a child process: `args` begin with a hidden command, such as `query-process`. Throws when modules have
 * changed since the first child: one of another version may ignore what it is sent, and callers would wait for its answers.
 */
export function childCommand(args: readonly string[]): readonly string[] {
  if (isProgramReplaced()) throw new Error(PROGRAM_REPLACED)
  return restartCommand(args)
}

/** The command line with which a child starts itself again. */
export function restartCommand(args: readonly string[]): readonly string[] {
  return [programPath(), ...childEntry(), ...args]
}

function childEntry(): readonly string[] {
  return isCompiled() ? [] : [join(import.meta.dir, '../../child.ts')]
}

/** Tells callers and the log why no child is started. */
export const PROGRAM_REPLACED =
  'The files of the program have changed since the server was started. Restart the server.'

/** True when modules have changed since the first child of this process was started. From source, it takes 3 ms. */
export function isProgramReplaced(): boolean {
  const { paths, stamp } = readFirstModules()
  return paths.length > 0 && stampOf(paths) !== stamp
}

const readFirstModules = memoizeValue(() => {
  const paths = childEntry().flatMap((entry) => listModules(dirname(entry)))
  return { paths, stamp: stampOf(paths) }
})

function listModules(folder: string): readonly string[] {
  const names = [...MODULES.scanSync({ cwd: folder })]
  return names.filter((name) => !name.startsWith(WEB_FOLDER)).map((name) => join(folder, name))
}

/** The sum of times and sizes: another one when a file was replaced, written or removed. */
function stampOf(paths: readonly string[]): number {
  let sum = 0
  for (const path of paths) {
    const file = statSync(path, { throwIfNoEntry: false })
    if (file !== undefined) sum += Math.floor(file.mtimeMs) + file.size
  }
  return sum
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
