/** Opens an edge's data thread behind the interface of ingestion. */
import { Capture, type CaptureSettings } from '../ingest/threads/capture.ts'
import { startDataWorker } from '../ingest/threads/data-worker.ts'
import type { FromDataThread } from '../ingest/threads/messages.ts'
import type { MovedEntries } from '../storage/log/edge-entries.ts'
import type { CopiesFromHome, GroupTypeCopy } from '../storage/persons/edge-persons.ts'
import type { ToEdgeThread } from './messages.ts'

export type EdgeCapture = {
  readonly capture: Capture
  /** Deletes entries that are at home. */
  readonly confirm: (epoch: string, up_to_seq: number) => void
  /** Sets aside the entries of projects that another server has. */
  readonly setAside: (entries: MovedEntries) => void
  /** Sends the entries of a project that were set aside. */
  readonly resume: (project_id: number) => void
  /** Stores copies of persons, groups and group types. */
  readonly replicate: (copies: CopiesFromHome) => void
  readonly takeGroupTypes: (types: readonly GroupTypeCopy[]) => void
}

/** `onStored` is called after each commit. */
type EdgeCaptureSettings = CaptureSettings & {
  /** The most bytes of entries that wait for the home. */
  readonly bytes_max: number
  readonly onStored: () => void
}

/** Opens events.db on the edge's data thread. control.db must exist. */
export async function openEdgeCapture(settings: EdgeCaptureSettings): Promise<EdgeCapture> {
  const thread = startDataWorker(new URL('./edge-thread.ts', import.meta.url))
  const { worker } = thread
  const post = (message: ToEdgeThread): void => worker.postMessage(message, [])
  post({ kind: 'limit', bytes_max: settings.bytes_max })
  worker.addEventListener('message', ({ data }: MessageEvent<FromDataThread>) => {
    if (data.kind === 'answers' || data.kind === 'done') settings.onStored()
  })
  const capture = new Capture(thread, settings)
  await capture.opened
  return {
    capture,
    confirm: (epoch, up_to_seq) => post({ kind: 'confirmed', epoch, up_to_seq }),
    setAside: (entries) => post({ kind: 'moved', entries }),
    resume: (project_id) => post({ kind: 'resume', project_id }),
    replicate: (copies) => post({ kind: 'replicate', copies }),
    takeGroupTypes: (types) => post({ kind: 'group_types', types }),
  }
}
