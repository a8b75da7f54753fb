/** The prepare thread: a Worker that takes large requests through the pipeline while the data thread writes others. */
import { openGeoip } from '../geoip.ts'
import { ProjectTokens } from '../storage/project-tokens.ts'
import { startHeartbeat } from '../threads/this-thread.ts'
import { finishJob, type Job } from './job.ts'
import { rememberLast } from './location.ts'
import {
  type DataThreadSettings,
  type FromPrepareThread,
  type ToPrepareThread,
  unpackRequests,
} from './messages.ts'
import { NameWatch } from './name-watch.ts'
import { packSlice } from './packing.ts'
import { ProjectPlugins } from './plugins.ts'
import { Preparer } from './preparer.ts'

declare const self: Worker

type Thread = {
  readonly tokens: ProjectTokens
  readonly names: NameWatch
  readonly plugins: ProjectPlugins
  readonly preparer: Preparer
}

let thread: Thread | null = null
let is_turn_due = false

self.addEventListener('message', (event: MessageEvent<ToPrepareThread>) => {
  const message = event.data
  if (message.kind === 'open') {
    thread = open(message.settings, message.to_data_thread)
    tell({ kind: 'opened' })
    return
  }
  if (thread === null) throw new Error(`the prepare thread is not open: ${message.kind}`)
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
      tell({ kind: 'closed' })
  }
})

function tell(message: FromPrepareThread): void {
  self.postMessage(message, [])
}

function open(settings: DataThreadSettings, to_data_thread: MessagePort): Thread {
  const tokens = new ProjectTokens(settings.data_dir)
  const names = new NameWatch()
  const plugins = new ProjectPlugins(settings.data_dir)
  const preparer = new Preparer({
    tokens,
    names,
    plugins,
    limits: settings.limits,
    locate: rememberLast(openGeoip(settings.geoip_files).lookup),
    takeSlice: (job, is_last) => passOn(to_data_thread, job, is_last),
    refuse: (answers) => {
      // Parts of them may have been passed on already.
      for (const [id] of answers) to_data_thread.postMessage({ kind: 'abandoned', id }, [])
      tell({ kind: 'answers', answers, first_events: [], bytes_written: 0 })
    },
  })
  startHeartbeat(settings.event_loop)
  return { tokens, names, plugins, preparer }
}

function passOn(to_data_thread: MessagePort, job: Job, is_last: boolean): void {
  const slice = packSlice(job.id, job.events, is_last ? finishJob(job) : null)
  job.events = []
  const project_id = job.around.project.id
  to_data_thread.postMessage({ kind: 'prepared', slice, project_id }, [])
}

function scheduleTurn(open_thread: Thread): void {
  if (is_turn_due) return
  is_turn_due = true
  setImmediate(() => {
    is_turn_due = false
    open_thread.preparer.turn()
    if (open_thread.preparer.has_work) scheduleTurn(open_thread)
  })
}
