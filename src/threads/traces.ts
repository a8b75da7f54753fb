/** Spans of requests and queries, as OpenTelemetry names them, in memory until they are sent (`serve/trace-sender.ts`). */

/** Spans that wait to be sent; further ones are dropped and counted. */
const WAITING_MAX = 8192

type SpanAttributes = Readonly<Record<string, number | string>>

/** A piece of work with its beginning and end. Times are those of `performance.now()`. */
export type FinishedSpan = {
  /** 32 hexadecimal digits. */
  readonly trace_id: string
  /** 16 hexadecimal digits. */
  readonly span_id: string
  readonly parent_id: string | null
  readonly name: string
  readonly kind: 'internal' | 'server'
  readonly started_ms: number
  readonly ended_ms: number
  readonly attributes: SpanAttributes
  readonly is_error: boolean
}

/** Version, trace, parent and flags, as the header of the W3C has them. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const NO_TRACE = '0'.repeat(32)
const SAMPLED = 1

/** The span of a request that is being answered. */
export class RequestSpan {
  readonly trace_id: string
  readonly span_id = randomHex(8)
  readonly #parent_id: string | null
  readonly #started_ms = performance.now()
  readonly #finish: (span: FinishedSpan) => void

  constructor(
    { trace_id, parent_id }: { readonly trace_id: string; readonly parent_id: string | null },
    finish: (span: FinishedSpan) => void,
  ) {
    this.trace_id = trace_id
    this.#parent_id = parent_id
    this.#finish = finish
  }

  /** Ends the request. */
  end(name: string, attributes: SpanAttributes, is_error: boolean): void {
    this.#finish({
      trace_id: this.trace_id,
      span_id: this.span_id,
      parent_id: this.#parent_id,
      name,
      kind: 'server',
      started_ms: this.#started_ms,
      ended_ms: performance.now(),
      attributes,
      is_error,
    })
  }

  /** Records a part of the request's work, which has just ended. */
  addPart(name: string, started_ms: number, attributes: SpanAttributes, is_error = false): void {
    this.#finish({
      trace_id: this.trace_id,
      span_id: randomHex(8),
      parent_id: this.span_id,
      name,
      kind: 'internal',
      started_ms,
      ended_ms: performance.now(),
      attributes,
      is_error,
    })
  }
}

/** The spans of this process. */
export class Traces {
  readonly #ratio: number
  #waiting: FinishedSpan[] = []
  readonly counts = { sent: 0, dropped: 0 }

  /** `ratio` of the requests are traced, and those that belong to a trace of their caller as that says. */
  constructor(ratio: number) {
    this.#ratio = ratio
  }

  /** Opens a request's span; null for one that is not traced. */
  open(traceparent: string | null): RequestSpan | null {
    const finish = (span: FinishedSpan): void => this.#add(span)
    const [, trace_id = NO_TRACE, parent_id = null, flags = ''] =
      TRACEPARENT.exec(traceparent ?? '') ?? []
    if (trace_id !== NO_TRACE) {
      const is_sampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED
      return is_sampled ? new RequestSpan({ trace_id, parent_id }, finish) : null
    }
    if (Math.random() >= this.#ratio) return null
    return new RequestSpan({ trace_id: randomHex(16), parent_id: null }, finish)
  }

  /** Takes spans that wait, oldest first. */
  take(count_max: number): readonly FinishedSpan[] {
    const taken = this.#waiting.slice(0, count_max)
    this.#waiting = this.#waiting.slice(count_max)
    return taken
  }

  #add(span: FinishedSpan): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(span)
    else this.counts.dropped += 1
  }
}

function randomHex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex()
}
