/** The time by the server's clock: this machine's may be wrong by hours, and charts would mark the wrong bucket as the current one. */

/** The server's `Date` has whole seconds, and an answer takes a while: smaller differences are no error. */
const TOLERANCE_MS = 60_000

let ahead_ms = 0

/** Notes the `Date` header of an answer that has just arrived; null or a text that is no date changes nothing. */
export function noteServerTime(header: string | null): void {
  const server_ms = Date.parse(header ?? '')
  if (Number.isNaN(server_ms)) return
  const difference_ms = Date.now() - server_ms
  ahead_ms = Math.abs(difference_ms) > TOLERANCE_MS ? difference_ms : 0
}

/** The current instant. */
export function now(): Date {
  return new Date(Date.now() - ahead_ms)
}
