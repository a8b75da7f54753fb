/** Confines a process of ours: files by Landlock, which lasts through a new start of the same program, calls by seccomp. */

import { existsSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { programPath, restartCommand, sourceFolder } from '../spawn-self.ts'
import { landlockVersion, type PathRule, restrictThread } from './landlock.ts'
import { replaceProgram, systemCall } from './libc.ts'
import { READ } from './path-rules.ts'
import { refuseSystemCalls } from './seccomp.ts'

/** The confinement that the kernel granted. */
export type Confinement = {
  /** The version of Landlock that guards files, and from 4 on TCP; 0 where there is none. */
  readonly landlock: number
  /** True when system calls are refused that an answer never needs. */
  readonly seccomp: boolean
}

const PRCTL = { x64: 157, arm64: 167 } as const
const PR_SET_NO_NEW_PRIVS = 38

/** Paths that the runtime and the C library read on any machine; a path that does not exist grants nothing. */
const SYSTEM_PATHS = [
  '/lib',
  '/lib64',
  '/usr/lib',
  '/usr/lib64',
  '/usr/share/zoneinfo',
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/etc/timezone',
  '/dev/urandom',
  '/dev/random',
  '/dev/zero',
  '/proc/self',
  '/proc/cpuinfo',
  '/proc/meminfo',
  '/proc/stat',
  '/proc/sys/vm/overcommit_memory',
  '/sys/devices/system/cpu',
  '/sys/fs/cgroup',
  '/sys/kernel/mm/transparent_hugepage',
] as const

/**
 * Starts this program again under Landlock, as the hidden `command` with `args` and a last argument that
 * `readConfinedArgument` reads. Landlock restricts one thread, and the runtime has several by now: only a new start has all
 * of its threads restricted. Returns where Landlock cannot be had, and the process goes on as it is.
 */
export function restartConfined(
  command: string,
  args: readonly string[],
  rules: readonly PathRule[],
): void {
  if (process.platform !== 'linux') return
  try {
    const version = landlockVersion()
    if (version === 0 || !refuseNewPrivileges()) return
    if (!restrictThread(version, [...rules, ...systemRules()])) return
    const [program = '', ...rest] = restartCommand([command, ...args, `landlock=${version}`])
    const reason = replaceProgram(program, [program, ...rest])
    // A process with only its main thread restricted must not go on.
    throw new Error(`a confined process cannot be started: ${reason}`)
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('a confined')) throw error
  }
}

/** The version of Landlock under which this process was started; null when it was not started by `restartConfined`. */
export function readConfinedArgument(args: readonly string[]): number | null {
  const version = /^landlock=(\d+)$/.exec(args.at(-1) ?? '')?.[1]
  return version === undefined ? null : Number(version)
}

/** Refuses system calls to all threads of this process from now on. False where that cannot be had. */
export function confineCalls(): boolean {
  if (process.platform !== 'linux') return false
  try {
    // Kept open for good: Landlock knows the folder by an inode that the kernel would forget otherwise.
    openSync('/proc/self', 'r')
    return refuseNewPrivileges() && refuseSystemCalls()
  } catch {
    return false
  }
}

function refuseNewPrivileges(): boolean {
  const { arch } = process
  if (arch !== 'x64' && arch !== 'arm64') return false
  return systemCall(PRCTL[arch], PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) === 0
}

/** The program itself, the libraries that it has loaded, its source when it is not compiled, and the paths above. */
function systemRules(): readonly PathRule[] {
  const loaded = listLoadedFiles()
  const source = sourceFolder()
  const own = source === null ? [] : ['src', 'sql', 'package.json', 'tsconfig.json']
  const packages = source === null ? [] : packageFolders(source)
  const read = [
    ...SYSTEM_PATHS,
    ...loaded.filter((path) => path.includes('.so')).map((path) => dirname(path)),
    ...own.map((name) => realPath(join(source ?? '', name))),
    ...packages.map((folder) => realPath(join(folder, 'node_modules'))),
  ]
  return [
    { path: '/dev/null', rights: ['read_file', 'write_file'] },
    // From source, packages are looked for in these folders.
    ...packages.map((path): PathRule => ({ path, rights: ['read_dir'] })),
    // The new start executes the program and its loader.
    ...loaded.map((path): PathRule => ({ path, rights: ['read_file', 'execute'] })),
    ...[...new Set(read)].map((path): PathRule => ({ path, rights: READ })),
  ]
}

/** The folders that have packages for the source: installed in another project, those above its own too. */
function packageFolders(source: string): readonly string[] {
  const folders: string[] = []
  for (let folder = source; folder !== dirname(folder); folder = dirname(folder)) {
    if (folder === source || existsSync(join(folder, 'node_modules'))) folders.push(folder)
  }
  return folders
}

function listLoadedFiles(): readonly string[] {
  const lines = readFileSync('/proc/self/maps', 'utf8').split('\n')
  // The columns before the path have no slash.
  const paths = lines.flatMap((line) => (line.includes(' /') ? line.slice(line.indexOf('/')) : []))
  return [...new Set([...paths.filter((path) => path.includes('.so')), programPath()])]
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
