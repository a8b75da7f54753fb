/** FAULT_POINTS, a seam for tests: kills the process at a named step, as a crash or a power cut would. */

/** The steps after which the process can be killed, in order. */
export const FAULT_POINTS = [
  'begun',
  'copied',
  'read_back',
  'synced',
  'renamed',
  'folder_synced',
  'reported',
] as const

export type FaultPoint = (typeof FAULT_POINTS)[number]

/** Kills the process when `point` is the requested one. */
export function reachFaultPoint(point: FaultPoint, fault: FaultPoint | null): void {
  if (point === fault) process.kill(process.pid, 'SIGKILL')
}
