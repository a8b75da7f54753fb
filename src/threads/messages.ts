/** Messages between a DeadlineWorker and its thread. */
import { type ErrorCode, Refusal, type Span } from '../errors.ts'

export type JobMessage<Input> = { readonly id: number; readonly input: Input }

export type JobResult<Output> =
  | { readonly kind: 'done'; readonly id: number; readonly output: Output }
  | { readonly kind: 'refused'; readonly id: number; readonly refusal: SentRefusal }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }

/** A Refusal as plain data: structured clone drops the class. */
export type SentRefusal = {
  readonly code: ErrorCode
  readonly detail: string
  readonly attr: string | null
  readonly span: Span | null
  readonly retry_after_s: number | null
}

/** A Refusal as data that can be sent. */
export function refusalToData({ code, detail, attr, span, retry_after_s }: Refusal): SentRefusal {
  return { code, detail, attr, span, retry_after_s }
}

/** The Refusal that was sent. */
export function refusalFromData({ code, detail, attr, span, retry_after_s }: SentRefusal): Refusal {
  return new Refusal(code, detail, {
    attr,
    ...(span === null ? {} : { span }),
    ...(retry_after_s === null ? {} : { retry_after_s }),
  })
}
