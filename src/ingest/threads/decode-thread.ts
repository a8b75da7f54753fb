/**
 * A decode thread: a Worker that decodes larger requests and runs the pipeline, while the data thread writes others. There
 * are two, so that ordinary batches do not wait while one of megabytes is parsed, which takes a tenth of a second for
 * each of them. The second one parses long entries of edges too.
 */
import { openGeoip } from '../../geoip.ts'
import { ProjectTokens } from '../../storage/control/project-tokens.ts'
import { beginWork, nameWork, startHeartbeat } from '../../threads/this-thread.ts'
import { DefinitionTracker } from '../notes/definition-tracker.ts'
import { memoizeLocation } from '../pipeline/location.ts'
import { ProjectPlugins } from '../pipeline/plugins.ts'
import { DecodeQueue, failureOf, findRefusal } from './decode-queue.ts'
import { type DecodeJob, finishDecodeJob } from './decode-request.ts'
import { packInSlices, packSlice } from './event-packing.ts'
import { readEntry } from './forwarded-entry.ts'
import {
  type CaptureLimits,
  type DataThreadSettings,
  type FromDecodeThread,
  type LongEntryLines,
  type LongEntryOutcome,
  type NumberedCapture,
  packRequests,
  type ToDecodeThread,
  unpackRequests,
} from './messages.ts'

declare const self: Worker

type DecodeThread = {
  readonly tokens: ProjectTokens
  readonly names: DefinitionTracker
  readonly plugins: ProjectPlugins
  readonly decoder: DecodeQueue
  readonly limits: CaptureLimits
  readonly to_data_thread: MessagePort
}

const READING_ENTRY = nameWork('edges: reading a long entry')

let thread: DecodeThread | null = null
let is_turn_due = false

self.addEventListener('message', (event: MessageEvent<ToDecodeThread>) => {
  const message = event.data
  if (message.kind === 'open') {
    thread = open(message)
    send({ kind: 'opened' })
    return
  }
  if (thread === null) throw new Error(`the decode thread is not open: ${message.kind}`)
  switch (message.kind) {
    case 'requests':
      thread.decoder.receive(unpackRequests(message.heads, message.bodies))
      scheduleTurn(thread)
      return
    case 'entry': {
      beginWork(READING_ENTRY, message.call, 0)
      const outcome = readLongEntry(message, thread.limits)
      thread.to_data_thread.postMessage({ kind: 'entry', call: message.call, outcome }, [])
      return
    }
    case 'settled':
      thread.decoder.settle(message.ids)
      scheduleTurn(thread)
      return
    case 'forget':
      thread.names.forget()
      return
    case 'close':
      thread.tokens.close()
      thread.plugins.close()
      thread = null
      send({ kind: 'closed' })
  }
})

function send(message: FromDecodeThread): void {
  self.postMessage(message, [])
}

function readLongEntry({ head, texts }: LongEntryLines, limits: CaptureLimits): LongEntryOutcome {
  try {
    const { events, ...entry } = readEntry(head, texts, limits)
    return { kind: 'read', entry: { ...entry, slices: packInSlices(events) } }
  } catch (error) {
    return findRefusal(error) ?? failureOf(error)
  }
}

type Opening = {
  readonly settings: DataThreadSettings
  readonly is_for_large: boolean
  readonly to_data_thread: MessagePort
}

function open({ settings, is_for_large, to_data_thread }: Opening): DecodeThread {
  const tokens = new ProjectTokens(settings.data_dir)
  const names = new DefinitionTracker()
  const plugins = new ProjectPlugins(settings.data_dir)
  const decoder = new DecodeQueue({
    tokens,
    names,
    plugins,
    guesses_tokens: true,
    limits: settings.limits,
    ...(is_for_large ? {} : { divert }),
    locate: memoizeLocation(openGeoip(settings.geoip_files).lookup),
    takeSlice: (job, is_last) => postSlice(to_data_thread, job, is_last),
    refuse: (answers) => {
      // The data thread may have slices of them already.
      for (const [id] of answers) to_data_thread.postMessage({ kind: 'abandoned', id }, [])
      send({ kind: 'answers', answers, first_events: [], bytes_written: 0 })
    },
  })
  startHeartbeat(settings.event_loop)
  return { tokens, names, plugins, decoder, limits: settings.limits, to_data_thread }
}

/** Sends a request back to the main thread, which posts it to the decode thread for large ones. */
function divert(capture: NumberedCapture): void {
  send({ kind: 'diverted', ...packRequests([capture]) })
}

function postSlice(to_data_thread: MessagePort, job: DecodeJob, is_last: boolean): void {
  const slice = packSlice(job.id, job.events, is_last ? finishDecodeJob(job) : null)
  job.events = []
  const project_id = job.request_context.project.id
  to_data_thread.postMessage({ kind: 'decoded', slice, project_id }, [])
}

function scheduleTurn(open_thread: DecodeThread): void {
  if (is_turn_due) return
  is_turn_due = true
  setImmediate(() => {
    is_turn_due = false
    open_thread.decoder.turn()
    if (open_thread.decoder.has_work) scheduleTurn(open_thread)
  })
}
