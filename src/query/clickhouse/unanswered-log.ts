/** Logs why ClickHouse does not answer queries: their callers get a 503 without the reason. */

import { ClickHouseError } from '../../storage/clickhouse/clickhouse-client.ts'
import { MINUTE_MS } from '../../time.ts'

export type ClickHouseLog = {
  error(fields: object, message: string): void
  info(fields: object, message: string): void
}

/** Every query may fail, many a second: a line a minute for each code. */
const LINE_EVERY_MS = MINUTE_MS

export class UnansweredLog {
  readonly #log: ClickHouseLog
  /** The time of the last line of each code, of ClickHouse or of the network. */
  readonly #logged_at_ms = new Map<string, number>()
  #is_logged = false

  constructor(log: ClickHouseLog) {
    this.#log = log
  }

  /** Logs the cause of a refusal. */
  noteFailure(cause: unknown): void {
    const code = codeOf(cause)
    const now_ms = performance.now()
    const last_ms = this.#logged_at_ms.get(code) ?? Number.NEGATIVE_INFINITY
    if (now_ms - last_ms < LINE_EVERY_MS) return
    this.#logged_at_ms.set(code, now_ms)
    this.#is_logged = true
    this.#log.error({ err: cause }, 'ClickHouse does not answer queries')
  }

  /** Logs the first answer after a logged failure. */
  noteAnswer(): void {
    if (!this.#is_logged) return
    this.#is_logged = false
    this.#log.info({}, 'ClickHouse answers queries again')
  }
}

function codeOf(cause: unknown): string {
  if (cause instanceof ClickHouseError) return String(cause.code)
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'none'
}
