/** Answers too long for one body: rows as a stream of bytes, made as fast as they are read. */
import type { QueryEngine } from './engine.ts'
import { cancelled } from './engine-refusals.ts'
import type { SentQuestion } from './frames.ts'

export type ExportOptions = {
  readonly timeout_ms: number
  /** Aborting ends the stream. */
  readonly signal: AbortSignal
}

/**
 * Begins an export; resolves when its first bytes are there. Refuses what the engine refuses before that; what goes
 * wrong later breaks the stream off, so that nobody takes a part for the whole.
 */
export async function exportRows(
  engine: Pick<QueryEngine, 'ask'>,
  question: SentQuestion,
  { timeout_ms, signal }: ExportOptions,
): Promise<ReadableStream<Uint8Array>> {
  const leave = new AbortController()
  const first = Promise.withResolvers<void>()
  let onPull: (() => void) | null = null
  let asked: Promise<unknown> = Promise.resolve()
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        asked = engine
          .ask(question, {
            timeout_ms,
            signal: AbortSignal.any([signal, leave.signal]),
            onPart: async (bytes) => {
              if (leave.signal.aborted) throw cancelled()
              const pulled = new Promise<void>((resolve) => {
                onPull = resolve
              })
              controller.enqueue(bytes)
              first.resolve()
              await pulled
            },
          })
          .then(() => controller.close())
          .catch((error: unknown) => {
            first.reject(error)
            if (!leave.signal.aborted) controller.error(error)
          })
      },
      pull: () => onPull?.(),
      cancel: () => leave.abort(),
    },
    { highWaterMark: 1 },
  )
  void asked.then(() => first.resolve())
  await first.promise
  return stream
}
