/** A seam for tests: the process is cut off at a named step, as a crash or a power cut would. */

/** The steps after which everything may end, in the order in which they happen. */
export const FAULT_POINTS = [
  'begun',
  'copied',
  'read_back',
  'synced',
  'renamed',
  'folder_synced',
  'told',
] as const

export type FaultPoint = (typeof FAULT_POINTS)[number]

/** Ends the process at once when `point` is the one asked for. */
export function reachFaultPoint(point: FaultPoint, fault: FaultPoint | null): void {
  if (point === fault) process.kill(process.pid, 'SIGKILL')
}
