/** Limits this process's memory by RLIMIT_DATA, because DuckDB's limit does not cover single function calls. */

import { dlopen, ptr } from 'bun:ffi'
import { readFileSync } from 'node:fs'
import { KIB, MIB } from '../../../bytes.ts'

const RLIMIT_DATA = 2

/** The limited address space: DuckDB's allocator returns pages to the kernel, but never addresses. */
export type AddressSpace = {
  /** Bytes available when the limit was set. */
  readonly bytes_total: number
  /** Bytes left now. */
  readonly bytesLeft: () => number
}

/**
 * Lets this process allocate `memory_mb` more address space than it has now; beyond that, allocations fail and
 * DuckDB reports "out of memory". The limit is set from inside the process, above what the runtime has reserved
 * (gigabytes, mostly untouched); a limit set before the start would include those. Null on other platforms.
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

/** Reads the size that counts towards the limit (VmData); null when it is not available. */
function readDataBytes(): number | null {
  try {
    const status = readFileSync('/proc/self/status', 'latin1')
    const kilobytes = /^VmData:\s+(\d+) kB$/m.exec(status)?.[1]
    return kilobytes === undefined ? null : Number(kilobytes) * KIB
  } catch {
    return null
  }
}
