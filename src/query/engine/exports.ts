/** Answers too long for one body: a stream of rows with backpressure from the reader to the worker. */

import { Refusal } from '../../errors.ts'
import type { BuildQuery } from '../kinds/prepared-query.ts'
import { whenAborted } from '../scheduling/abort-signal.ts'
import type { BackgroundSlot } from '../scheduling/scheduler.ts'
import type { QueryEngine } from './engine.ts'
import { refuseCancelled } from './engine-refusals.ts'
import type { WorkerQuery } from './protocol.ts'

type RowExportOptions = {
  readonly timeout_ms: number
  /** Bytes after which the stream breaks off. */
  readonly bytes_max: number
  /** Aborting ends the stream. */
  readonly signal: AbortSignal
  /** Called at the end of the computation, however the stream ended. */
  readonly onEnd: () => void
  /** Called with the reason when the stream breaks off after its first bytes: its reader sees only that it did. */
  readonly onBreak?: (reason: unknown) => void
  /** Maximum time between two reads; by default a minute. */
  readonly stall_ms?: number
}

/** A reader that takes nothing for this long is cut off, because the export occupies the engine meanwhile. */
const STALL_MS = 60_000

/** Begins an export once it has a background slot; a reader that leaves before releases it. Refuses as `exportRows` does. */
export async function exportWithBackpressure(
  engine: Pick<QueryEngine, 'run'>,
  input: BuildQuery,
  { slot, onEnd, ...options }: RowExportOptions & { readonly slot: BackgroundSlot },
): Promise<ReadableStream<Uint8Array>> {
  try {
    await Promise.race([slot.granted, whenAborted(options.signal)])
    const { timeout_ms, signal } = options
    const query = await input((before) => engine.run(before, { timeout_ms, signal }))
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
 * Begins an export; resolves with the first bytes. Refuses what the engine refuses before them; a later error breaks
 * the stream off, so that the reader cannot take a part for the whole.
 */
export async function exportRows(
  engine: Pick<QueryEngine, 'run'>,
  query: WorkerQuery,
  { timeout_ms, bytes_max, signal, onEnd, onBreak, stall_ms = STALL_MS }: RowExportOptions,
): Promise<ReadableStream<Uint8Array>> {
  const leave = new AbortController()
  const first_bytes = Promise.withResolvers<void>()
  const reader = readerOf(stall_ms, () => leave.abort())
  let has_left = false
  let sent_bytes = 0
  let fault: Refusal | null = null
  let execution: Promise<unknown> = Promise.resolve()
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        execution = engine
          .run(query, {
            timeout_ms,
            signal: AbortSignal.any([signal, leave.signal]),
            onPart: async (bytes) => {
              if (leave.signal.aborted) throw refuseCancelled()
              sent_bytes += bytes.length
              if (sent_bytes > bytes_max) {
                fault = tooManyBytes(bytes_max)
                leave.abort()
                throw fault
              }
              controller.enqueue(bytes)
              first_bytes.resolve()
              if ((controller.desiredSize ?? 0) <= 0) await reader.wait()
            },
          })
          .finally(() => {
            reader.end()
            onEnd()
          })
          .then(() => controller.close())
          .catch((error: unknown) => {
            first_bytes.reject(fault ?? error)
            if (has_left) return
            controller.error(fault ?? error)
            if (sent_bytes > 0 && !signal.aborted) onBreak?.(fault ?? error)
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
  void execution.then(() => first_bytes.resolve())
  await first_bytes.promise
  return stream
}

function tooManyBytes(bytes_max: number): Refusal {
  const detail = `The export has more than ${bytes_max} bytes. Ask for less at a time.`
  return new Refusal('query_too_large', detail)
}

type ExportReader = {
  /** Resolves when the reader requests more. */
  readonly wait: () => Promise<void>
  /** The reader requests more. */
  readonly take: () => void
  /** Ends the waiting. */
  readonly end: () => void
}

/** Connects the producer of parts with their reader; calls `onStall` when the reader requests nothing for `stall_ms`. */
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
