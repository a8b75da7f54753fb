/** Bounds the memory of this process by the kernel, because DuckDB's own limit does not bound single function calls. */
import { dlopen, ptr } from 'bun:ffi'
import { readFileSync } from 'node:fs'

const RLIMIT_DATA = 2
const MIB = 1024 * 1024
const KIB = 1024

/** Address space that a process may take: DuckDB's allocator gives pages back to the kernel, addresses never. */
export type AddressSpace = {
  /** What there was when the limit was set, in bytes. */
  readonly bytes_total: number
  /** What is left of it now, in bytes. */
  readonly bytesLeft: () => number
}

/**
 * Lets this process allocate `memory_mb` more address space than it has now; beyond that, allocations fail and
 * DuckDB answers "out of memory". It is set from inside, on top of what the runtime has reserved (gigabytes,
 * mostly untouched), because a limit set before the start would be eaten by that. Null where the platform cannot.
 */
export function limitMemory(memory_mb: number): AddressSpace | null {
  if (process.platform !== 'linux') return null
  const reserved = readDataBytes()
  if (reserved === null) return null
  const bytes_total = memory_mb * MIB
  const bytes = BigInt(reserved + bytes_total)
  const limit = new BigUint64Array([bytes, bytes])
  try {
    const libc = dlopen('libc.so.6', { setrlimit: { args: ['i32', 'ptr'], returns: 'i32' } })
    if (libc.symbols.setrlimit(RLIMIT_DATA, ptr(limit)) !== 0) return null
  } catch {
    return null
  }
  const bytesLeft = (): number => bytes_total - ((readDataBytes() ?? reserved) - reserved)
  return { bytes_total, bytesLeft }
}

/** What counts towards the limit; null where the system does not say. */
function readDataBytes(): number | null {
  try {
    const status = readFileSync('/proc/self/status', 'latin1')
    const kilobytes = /^VmData:\s+(\d+) kB$/m.exec(status)?.[1]
    return kilobytes === undefined ? null : Number(kilobytes) * KIB
  } catch {
    return null
  }
}
