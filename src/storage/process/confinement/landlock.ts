/** Landlock: the files that the calling thread, and the program that it becomes, may still reach. */
import { ptr } from 'bun:ffi'
import { closeSync, openSync, statSync } from 'node:fs'
import { systemCall } from './libc.ts'

// The same numbers on x64 and arm64.
const CREATE_RULESET = 444
const ADD_RULE = 445
const RESTRICT_SELF = 446

const CREATE_RULESET_VERSION = 1
const RULE_PATH_BENEATH = 1
const O_PATH = 0x20_0000
const O_CLOEXEC = 0x8_0000

/** Rights by name, each with its bit and the version of the interface that brought it. */
const RIGHTS = {
  execute: { bit: 0, since: 1 },
  write_file: { bit: 1, since: 1 },
  read_file: { bit: 2, since: 1 },
  read_dir: { bit: 3, since: 1 },
  remove_dir: { bit: 4, since: 1 },
  remove_file: { bit: 5, since: 1 },
  make_char: { bit: 6, since: 1 },
  make_dir: { bit: 7, since: 1 },
  make_reg: { bit: 8, since: 1 },
  make_sock: { bit: 9, since: 1 },
  make_fifo: { bit: 10, since: 1 },
  make_block: { bit: 11, since: 1 },
  make_sym: { bit: 12, since: 1 },
  refer: { bit: 13, since: 2 },
  truncate: { bit: 14, since: 3 },
  ioctl_dev: { bit: 15, since: 5 },
} as const satisfies Record<string, { readonly bit: number; readonly since: number }>

export type Right = keyof typeof RIGHTS

/** The rights that a rule for a single file may grant; the kernel refuses others there. */
const FILE_RIGHTS: ReadonlySet<Right> = new Set([
  'execute',
  'write_file',
  'read_file',
  'truncate',
  'ioctl_dev',
])

/** Grants rights on a file, or on a folder and everything below it. A path that is not there grants nothing. */
export type PathRule = { readonly path: string; readonly rights: readonly Right[] }

/** TCP: bind and connect. Since version 4. */
const NET_RIGHTS = 3n
const NET_SINCE = 4
/** Abstract Unix sockets of others, signals to others. Since version 6. */
const SCOPES = 3n
const SCOPES_SINCE = 6

/** The version of the kernel's interface; 0 where there is none or it may not be used. */
export function landlockVersion(): number {
  return Math.max(0, systemCall(CREATE_RULESET, 0, 0, CREATE_RULESET_VERSION))
}

/**
 * Restricts the calling thread to these rules for good, and to no network as far as the version can. It needs
 * "no new privileges" first. Threads that run already are not restricted; a program started by `execve` is, as a whole.
 */
export function restrictThread(version: number, rules: readonly PathRule[]): boolean {
  const handled = bitsOf(Object.keys(RIGHTS) as Right[], version)
  const attributes = new BigUint64Array([
    handled,
    ...(version >= NET_SINCE ? [NET_RIGHTS] : []),
    ...(version >= SCOPES_SINCE ? [SCOPES] : []),
  ])
  const ruleset = systemCall(CREATE_RULESET, Number(ptr(attributes)), attributes.byteLength, 0)
  if (ruleset < 0) return false
  try {
    return (
      rules.every((rule) => addRule(ruleset, version, rule)) &&
      systemCall(RESTRICT_SELF, ruleset, 0) === 0
    )
  } finally {
    closeSync(ruleset)
  }
}

function addRule(ruleset: number, version: number, { path, rights }: PathRule): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return true
  const granted = stat.isDirectory() ? rights : rights.filter((right) => FILE_RIGHTS.has(right))
  const fd = openSync(path, O_PATH | O_CLOEXEC)
  try {
    const attributes = new DataView(new ArrayBuffer(12))
    attributes.setBigUint64(0, bitsOf(granted, version), true)
    attributes.setInt32(8, fd, true)
    const pointer = Number(ptr(attributes))
    return systemCall(ADD_RULE, ruleset, RULE_PATH_BENEATH, pointer, 0) === 0
  } finally {
    closeSync(fd)
  }
}

function bitsOf(rights: readonly Right[], version: number): bigint {
  return rights
    .filter((right) => RIGHTS[right].since <= version)
    .reduce((bits, right) => bits | (1n << BigInt(RIGHTS[right].bit)), 0n)
}
