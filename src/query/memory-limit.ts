/** Bounds the memory of this process by the kernel, because DuckDB's own limit does not bound single function calls. */
import { dlopen, ptr } from 'bun:ffi'
import { readFileSync } from 'node:fs'

const RLIMIT_DATA = 2
const MIB = 1024 * 1024

/**
 * Lets this process allocate `memory_mb` more address space than it has now; beyond that, allocations fail and
 * DuckDB answers "out of memory". It is set from inside, on top of what the runtime has reserved (gigabytes,
 * mostly untouched), because a limit set before the start would be eaten by that. False where the platform cannot.
 */
export function limitMemory(memory_mb: number): boolean {
  if (process.platform !== 'linux') return false
  const reserved_kb = /^VmData:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  if (reserved_kb === undefined) return false
  const bytes = BigInt(reserved_kb) * 1024n + BigInt(memory_mb * MIB)
  const limit = new BigUint64Array([bytes, bytes])
  try {
    const libc = dlopen('libc.so.6', { setrlimit: { args: ['i32', 'ptr'], returns: 'i32' } })
    return libc.symbols.setrlimit(RLIMIT_DATA, ptr(limit)) === 0
  } catch {
    return false
  }
}
