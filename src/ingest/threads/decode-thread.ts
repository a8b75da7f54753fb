/**
 * The decode thread: a Worker that decodes large requests and runs the pipeline, while the data thread writes others.
 */
import { openGeoip } from '../../geoip.ts'
import { ProjectTokens } from '../../storage/control/project-tokens.ts'
import { startHeartbeat } from '../../threads/this-thread.ts'
import { DefinitionTracker } from '../notes/definition-tracker.ts'
import { memoizeLocation } from '../pipeline/location.ts'
import { ProjectPlugins } from '../pipeline/plugins.ts'
import { BatchDecoder } from './decode-batch.ts'
import { type DecodeJob, finishDecodeJob } from './decode-request.ts'
import { packSlice } from './event-packing.ts'
import {
  type DataThreadSettings,
  type FromDecodeThread,
  type ToDecodeThread,
  unpackRequests,
} from './messages.ts'

declare const self: Worker

type DecodeThread = {
  readonly tokens: ProjectTokens
  readonly names: DefinitionTracker
  readonly plugins: ProjectPlugins
  readonly preparer: BatchDecoder
}

let thread: DecodeThread | null = null
let is_turn_due = false

self.addEventListener('message', (event: MessageEvent<ToDecodeThread>) => {
  const message = event.data
  if (message.kind === 'open') {
    thread = open(message.settings, message.to_data_thread)
    send({ kind: 'opened' })
    return
  }
  if (thread === null) throw new Error(`the decode thread is not open: ${message.kind}`)
  switch (message.kind) {
    case 'requests':
      thread.preparer.receive(unpackRequests(message.heads, message.bodies))
      scheduleTurn(thread)
      return
    case 'settled':
      thread.preparer.settle(message.ids)
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

function open(settings: DataThreadSettings, to_data_thread: MessagePort): DecodeThread {
  const tokens = new ProjectTokens(settings.data_dir)
  const names = new DefinitionTracker()
  const plugins = new ProjectPlugins(settings.data_dir)
  const preparer = new BatchDecoder({
    tokens,
    names,
    plugins,
    limits: settings.limits,
    locate: memoizeLocation(openGeoip(settings.geoip_files).lookup),
    takeSlice: (job, is_last) => postSlice(to_data_thread, job, is_last),
    refuse: (answers) => {
      // The data thread may have slices of them already.
      for (const [id] of answers) to_data_thread.postMessage({ kind: 'abandoned', id }, [])
      send({ kind: 'answers', answers, first_events: [], bytes_written: 0 })
    },
  })
  startHeartbeat(settings.event_loop)
  return { tokens, names, plugins, preparer }
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
    open_thread.preparer.turn()
    if (open_thread.preparer.has_work) scheduleTurn(open_thread)
  })
}
