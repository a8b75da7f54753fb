/** SHIPPING_FAULTS, a seam for tests: kills this process at a named step of a batch, as a crash or a power cut would. */

/** The steps after which a process can be killed, in order: two of the shipping process, then those of the server. */
export const SHIPPING_FAULTS = [
  'copied',
  'synced',
  'added',
  'sent',
  'shipped',
  'trimmed',
  'persons_sent',
] as const

export type ShippingFault = (typeof SHIPPING_FAULTS)[number]

/** Kills the process when `point` is the requested one. */
export function reachShippingFault(
  point: ShippingFault,
  fault: ShippingFault | null | undefined,
): void {
  if (point === fault) process.kill(process.pid, 'SIGKILL')
}
