/** Loads the server's libraries, which other commands do not need. */
import type { Config } from '../config.ts'
import { type DataWorker, startDataWorker } from '../ingest/threads/data-worker.ts'
import type { serve } from '../serve.ts'

type LoadedServer = { readonly serve: typeof serve; readonly data_worker: DataWorker | undefined }

/** Loads them while the data thread loads its own, which takes 50 ms. Edges and standbys have no such thread. */
export async function loadServer({ forward_to, replica_of }: Config): Promise<LoadedServer> {
  const has_data_thread = forward_to === null && replica_of === null
  const data_worker = has_data_thread ? startDataWorker() : undefined
  const server = await import('../serve.ts')
  return { serve: server.serve, data_worker }
}
