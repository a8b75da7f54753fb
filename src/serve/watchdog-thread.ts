/** The watchdog's thread: logs which request holds another thread while it still does, since that thread cannot. */

import { memoizeValue } from '../memoize.ts'
import {
  type EventLoops,
  HEARTBEAT_MS,
  readBeats,
  readTurnCpu,
  readWork,
  type WorkRecord,
} from '../threads/loop-memory.ts'

declare const self: Worker

/** The settings of the watchdog. */
export type WatchdogOptions = {
  readonly event_loops: EventLoops
  /** Time without a heartbeat after which a thread counts as held. */
  readonly stall_log_ms: number
  readonly log_level: string
}

/** The state of one watched thread. */
type Watch = {
  readonly thread: string
  readonly memory: SharedArrayBuffer
  beats: number
  held_ms: number
  is_logged: boolean
}

/** Writes one line of the log. */
type Warn = (fields: object, message: string) => void

const LOOK_MS = 20

const FREE = 'the event loop is free again'
/** Much less processor time than time held: the machine was busy, not the thread. */
const FREE_AFTER_WAITING = `${FREE}: it waited for a processor or for the disk`

self.addEventListener('message', ({ data }: MessageEvent<WatchdogOptions>) => {
  // Loaded for the first line: it takes half of this thread's start, and few servers are ever held.
  const loadLog = memoizeValue(async () => (await import('../logs.ts')).openLog(data.log_level))
  const warn: Warn = (fields, message) => {
    void loadLog().then((log) => log.warn(fields, message))
  }
  const watches = Object.entries(data.event_loops).map(
    ([thread, memory]): Watch => ({ thread, memory, beats: 0, held_ms: 0, is_logged: false }),
  )
  let last_ms = performance.now()
  setInterval(() => {
    const now_ms = performance.now()
    // A machine that pauses stops this thread too: that time is not counted against the other threads.
    const passed_ms = Math.min(now_ms - last_ms, 2 * LOOK_MS)
    last_ms = now_ms
    for (const watch of watches) look(watch, passed_ms, data.stall_log_ms, warn)
  }, LOOK_MS)
})

function look(watch: Watch, passed_ms: number, stall_log_ms: number, warn: Warn): void {
  const beats = readBeats(watch.memory)
  // A thread without a heartbeat has not started.
  if (beats === 0) return
  if (beats !== watch.beats) {
    if (watch.is_logged) {
      const cpu_ms = Math.round(readTurnCpu(watch.memory))
      const is_waiting = cpu_ms < watch.held_ms / 2
      warn({ ...fieldsOf(watch), cpu_ms }, is_waiting ? FREE_AFTER_WAITING : FREE)
    }
    watch.beats = beats
    watch.held_ms = 0
    watch.is_logged = false
    return
  }
  watch.held_ms += passed_ms
  if (watch.is_logged || watch.held_ms < stall_log_ms + HEARTBEAT_MS) return
  watch.is_logged = true
  warn({ ...fieldsOf(watch), ...describe(readWork(watch.memory)) }, 'the event loop is held')
}

function fieldsOf({ thread, held_ms }: Watch): object {
  return { thread, held_ms: Math.round(held_ms) }
}

/** Work from before the last heartbeat does not hold the thread itself, but may have started the work that does. */
function describe({ name, request_id, project_id, is_current }: WorkRecord): object {
  const work = { name, request_id, project_id: project_id === 0 ? null : project_id }
  return is_current ? { work } : { work: null, last_work: work }
}
