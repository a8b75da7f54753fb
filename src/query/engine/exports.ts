/** Answers too long for one body: rows as a stream of bytes, made as fast as they are read. */

import type { BuildQuery } from '../kinds/prepared-query.ts'
import { whenAborted } from '../service/abort-signal.ts'
import type { BackgroundSlot } from '../service/background-slots.ts'
import type { QueryEngine } from './engine.ts'
import { cancelled } from './engine-refusals.ts'
import type { WorkerQuery } from './protocol.ts'

export type RowExportOptions = {
  readonly timeout_ms: number
  /** Aborting ends the stream. */
  readonly signal: AbortSignal
  /** Called when nothing more is computed, however the stream ended. */
  readonly onEnd: () => void
  /** How long a reader may take nothing; by default a minute. */
  readonly stall_ms?: number
}

/** A reader who takes nothing for so long gets no more: the engine works for nobody else meanwhile. */
const STALL_MS = 60_000

/** Begins an export in its turn; whoever leaves before gives the turn back. Refuses as `exportRows` does. */
export async function exportWithBackpressure(
  engine: Pick<QueryEngine, 'ask'>,
  input: BuildQuery,
  { turn: slot, onEnd, ...options }: RowExportOptions & { readonly turn: BackgroundSlot },
): Promise<ReadableStream<Uint8Array>> {
  try {
    await Promise.race([slot.granted, whenAborted(options.signal)])
    const { timeout_ms, signal } = options
    const query = await input((before) => engine.ask(before, { timeout_ms, signal }))
    return await exportRows(engine, query, {
      ...options,
      onEnd: () => {
        slot.release()
        onEnd()
      },
    })
  } catch (error) {
    slot.release()
    throw error
  }
}

/**
 * Begins an export; resolves when its first bytes are there. Refuses what the engine refuses before that; what goes
 * wrong later breaks the stream off, so that nobody takes a part for the whole.
 */
export async function exportRows(
  engine: Pick<QueryEngine, 'ask'>,
  query: WorkerQuery,
  { timeout_ms, signal, onEnd, stall_ms = STALL_MS }: RowExportOptions,
): Promise<ReadableStream<Uint8Array>> {
  const leave = new AbortController()
  const first = Promise.withResolvers<void>()
  const reader = readerOf(stall_ms, () => leave.abort())
  let has_left = false
  let options: Promise<unknown> = Promise.resolve()
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        options = engine
          .ask(query, {
            timeout_ms,
            signal: AbortSignal.any([signal, leave.signal]),
            onPart: async (bytes) => {
              if (leave.signal.aborted) throw cancelled()
              controller.enqueue(bytes)
              first.resolve()
              if ((controller.desiredSize ?? 0) <= 0) await reader.wait()
            },
          })
          .finally(() => {
            reader.end()
            onEnd()
          })
          .then(() => controller.close())
          .catch((error: unknown) => {
            first.reject(error)
            if (!has_left) controller.error(error)
          })
      },
      pull: () => reader.take(),
      cancel: () => {
        has_left = true
        leave.abort()
      },
    },
    { highWaterMark: 1 },
  )
  void options.then(() => first.resolve())
  await first.promise
  return stream
}

type ExportReader = {
  /** Resolves when the reader wants more. */
  readonly wait: () => Promise<void>
  /** The reader wants more. */
  readonly take: () => void
  /** There is no more. */
  readonly end: () => void
}

/** Whoever makes parts waits for whoever takes them, but not for ever. */
function readerOf(stall_ms: number, onStall: () => void): ExportReader {
  let waiting: (() => void)[] = []
  let stall: Timer | null = null
  const end = (): void => {
    if (stall !== null) clearTimeout(stall)
    stall = null
    for (const resolve of waiting) resolve()
    waiting = []
  }
  return {
    wait: () => {
      stall ??= setTimeout(onStall, stall_ms)
      return new Promise((resolve) => {
        waiting.push(resolve)
      })
    },
    take: end,
    end,
  }
}
