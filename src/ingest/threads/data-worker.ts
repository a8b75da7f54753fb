/** Starts the Workers of ingestion, which load their modules before they are opened. */
import { THREAD_OPTIONS } from './messages.ts'

/** A data thread, or an edge's thread in its place. */
export type DataWorker = {
  readonly worker: Worker
  /** Resolves with the reason when the thread has ended by an error. */
  readonly broken: Promise<string>
}

/** Starts the data thread. `openCapture` opens the databases on it. */
export function startDataWorker(url = new URL('./data-thread.ts', import.meta.url)): DataWorker {
  const worker = new Worker(url.href, THREAD_OPTIONS)
  const broken = Promise.withResolvers<string>()
  // From the beginning: an error that comes before anybody listens is lost.
  worker.addEventListener('error', (event) => broken.resolve(event.message))
  return { worker, broken: broken.promise }
}
