/** How much longer anything takes now because other work shares the cores, their caches and memory. */
import { KIB } from '../../src/bytes.ts'

/** Milliseconds that the parse takes on an undisturbed core of a small server. */
const PARSE_MS = 12

const names = Array.from({ length: 75 * KIB }, (_, index) => `"${index.toString(36)}":0`)
const MANY_NAMES = `{${names.join(',')}}`

/** Processor time of a parse now, in times of that on an undisturbed core; at least 1. */
export function machineSlowness(): number {
  const before = process.threadCpuUsage()
  JSON.parse(MANY_NAMES)
  const { user, system } = process.threadCpuUsage(before)
  return Math.max(1, (user + system) / 1000 / PARSE_MS)
}
