/** System calls through libc that neither Bun nor Node offers. Linux only. */
import { dlopen, ptr, read } from 'bun:ffi'

const WORD = 'i64'

/** Opens the C library; throws where there is no glibc. Every symbol takes and returns machine words. */
function openLibc() {
  return dlopen('libc.so.6', {
    syscall: { args: [WORD, WORD, WORD, WORD, WORD, WORD], returns: WORD },
    _exit: { args: ['i32'], returns: 'void' },
    execv: { args: ['ptr', 'ptr'], returns: 'i32' },
    __errno_location: { args: [], returns: 'ptr' },
    strerror: { args: ['i32'], returns: 'cstring' },
  }).symbols
}

let libc: ReturnType<typeof openLibc> | null = null

/** Makes a system call with up to five words. Returns its result; a failure is negative. Throws where there is no glibc. */
export function systemCall(number: number, ...words: readonly number[]): number {
  libc ??= openLibc()
  const [a = 0, b = 0, c = 0, d = 0, e = 0] = words
  return Number(libc.syscall(number, a, b, c, d, e))
}

/** Ends this process without handlers of its exit. Throws where there is no glibc. */
export function exitWithoutHandlers(status: number): void {
  libc ??= openLibc()
  const { _exit: exit } = libc
  exit(status)
}

/** Replaces the program of this process, which keeps its environment; returns, with the reason, only when that failed. */
export function replaceProgram(path: string, args: readonly string[]): string {
  libc ??= openLibc()
  const program = cString(path)
  const arg_texts = args.map(cString)
  const arg_list = pointerList(arg_texts)
  libc.execv(ptr(program), ptr(arg_list))
  return lastError(libc)
}

function lastError({ __errno_location, strerror }: ReturnType<typeof openLibc>): string {
  const place = __errno_location()
  return typeof place === 'number' ? String(strerror(read.i32(place, 0))) : 'unknown error'
}

function cString(text: string): Uint8Array {
  return Buffer.from(`${text}\0`)
}

/** Ends with a null pointer. The texts must outlive it. */
function pointerList(texts: readonly Uint8Array[]): BigUint64Array {
  return new BigUint64Array([...texts.map((text) => BigInt(ptr(text))), 0n])
}
