/** Answers that take longer than the timeout of idle connections: it is lifted meanwhile, and set back at their end. */
import { type ClientSocket, IDLE_TIMEOUT_S } from './endpoint.ts'

type RequestConnection = { readonly request: Request; readonly socket: ClientSocket }

/** Keeps the request's connection open while `work` runs, however long that takes. One at a time for a request: its end sets the timeout back. */
export async function withoutIdleTimeout<Result>(
  { request, socket }: RequestConnection,
  work: () => Promise<Result>,
): Promise<Result> {
  socket?.timeout(request, 0)
  try {
    return await work()
  } finally {
    socket?.timeout(request, IDLE_TIMEOUT_S)
  }
}

/** Keeps the request's connection open until the end of a stream, which has limits of its own for time and slow readers. */
export function streamWithoutIdleTimeout(
  { request, socket }: RequestConnection,
  stream: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        socket?.timeout(request, 0)
        const { value, done } = await reader.read()
        if (!done) return controller.enqueue(value)
        // Before the end: Bun does not know the connection of a request that was answered.
        socket?.timeout(request, IDLE_TIMEOUT_S)
        controller.close()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
