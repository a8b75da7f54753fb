/** Sends spans to an OpenTelemetry collector: OTLP over HTTP, as JSON. */
import type { Config } from '../config.ts'
import { errorMessage } from '../error-message.ts'
import type { Log } from '../logs.ts'
import { fetchByName } from '../name-lookup.ts'
import { type FinishedSpan, Traces } from '../threads/traces.ts'
import { SECOND_MS } from '../time.ts'

const SEND_EVERY_MS = 2 * SECOND_MS
const TIMEOUT_MS = 5 * SECOND_MS
/** A stop waits no longer for a collector. */
const LAST_TIMEOUT_MS = SECOND_MS
/** Spans of one request. */
const SPANS_TOGETHER = 1024
/** The numbers of OTLP for kinds of spans, and for a status that is an error. */
const KINDS = { internal: 1, server: 2 } as const
const STATUS_ERROR = 2

/** Runs from `start` until `close`. A collector that does not answer costs spans, never requests. */
class TraceSender {
  readonly #url: string
  readonly #traces: Traces
  readonly #log: Pick<Log, 'info' | 'warn'>
  #timer: Timer | null = null
  #sending: Promise<void> = Promise.resolve()
  #has_failed = false

  /** `url` is the collector's, without `/v1/traces`. */
  constructor(url: string, traces: Traces, log: Pick<Log, 'info' | 'warn'>) {
    this.#url = url
    this.#traces = traces
    this.#log = log
  }

  start(): void {
    let is_sending = false
    this.#timer = setInterval(() => {
      if (is_sending) return
      is_sending = true
      this.#sending = this.#sendAll().finally(() => {
        is_sending = false
      })
    }, SEND_EVERY_MS)
    this.#timer.unref()
  }

  /** Sends the waiting spans, once. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await Promise.race([this.#sending, Bun.sleep(LAST_TIMEOUT_MS)])
    await this.#sendAll(LAST_TIMEOUT_MS)
  }

  async #sendAll(timeout_ms = TIMEOUT_MS): Promise<void> {
    for (;;) {
      const spans = this.#traces.take(SPANS_TOGETHER)
      if (spans.length === 0) return
      if (await this.#send(spans, timeout_ms)) this.#traces.counts.sent += spans.length
      else {
        this.#traces.counts.dropped += spans.length
        return
      }
    }
  }

  async #send(spans: readonly FinishedSpan[], timeout_ms: number): Promise<boolean> {
    try {
      const answer = await fetchByName(`${this.#url}/v1/traces`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(printSpans(spans)),
        signal: AbortSignal.timeout(timeout_ms),
        redirect: 'manual',
      })
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`the collector answered ${answer.status}`)
      if (this.#has_failed) this.#log.info({}, 'the collector takes traces again')
      this.#has_failed = false
      return true
    } catch (error) {
      const reason = errorMessage(error)
      if (!this.#has_failed) this.#log.warn({ reason }, 'traces cannot be sent')
      this.#has_failed = true
      return false
    }
  }
}

/** The body of an export, as OTLP's JSON mapping prints it. */
function printSpans(spans: readonly FinishedSpan[]): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: [printAttribute(['service.name', 'tidemark'])] },
        scopeSpans: [{ scope: { name: 'tidemark' }, spans: spans.map(printSpan) }],
      },
    ],
  }
}

function printSpan(span: FinishedSpan): object {
  return {
    traceId: span.trace_id,
    spanId: span.span_id,
    ...(span.parent_id === null ? {} : { parentSpanId: span.parent_id }),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: printTime(span.started_ms),
    endTimeUnixNano: printTime(span.ended_ms),
    attributes: Object.entries(span.attributes).map(printAttribute),
    ...(span.is_error ? { status: { code: STATUS_ERROR } } : {}),
  }
}

function printAttribute([key, value]: readonly [string, number | string]): object {
  // 64-bit integers are texts in OTLP's JSON.
  return {
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }
}

/** Nanoseconds since 1970 as a text: more than a number can hold. */
function printTime(time_ms: number): string {
  return `${Math.round((performance.timeOrigin + time_ms) * 1000)}000`
}

/** Opens the sender and the spans that it sends; null while no collector is set. */
export function openTraces(
  { traces_to, traces_percent }: Pick<Config, 'traces_percent' | 'traces_to'>,
  log: Pick<Log, 'info' | 'warn'>,
  parts: AsyncDisposableStack,
): Traces | null {
  if (traces_to === null) return null
  const traces = new Traces(traces_percent / 100)
  const sender = new TraceSender(traces_to, traces, log)
  parts.defer(() => sender.close())
  sender.start()
  return traces
}
