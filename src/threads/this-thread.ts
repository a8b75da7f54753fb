/**
 * The event loop of the thread that imports this file: its heartbeat, and which request it works on. One per thread, as
 * there is one event loop per thread.
 *
 * Handlers are asynchronous, so a thread works on many requests in turn. A stretch of work is recorded where it begins
 * (`runWork`, `beginWork`) and where it continues after an await that much work may follow (`resumeWork`). Between two
 * heartbeats the last record wins: it names the work that holds the thread.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { LoopRecorder, NAME_BYTES_MAX, readBeatMs } from './loop-memory.ts'
import type { RequestSpan } from './traces.ts'

/** A name of work, encoded once. */
export type WorkName = Uint8Array<ArrayBuffer>

type ThreadWork = {
  readonly name: WorkName
  readonly request_id: number
  readonly span: RequestSpan | null
  project_id: number
}

/** The work that the running code belongs to, also after an await. */
const current = new AsyncLocalStorage<ThreadWork>()
const REQUEST_IDS_MAX = 2 ** 31 - 1

let recorder: LoopRecorder | null = null
let last_request_id = 0

/** Starts the heartbeat of this thread in its memory. The returned function stops it. */
export function startHeartbeat(memory: SharedArrayBuffer): () => void {
  const own = new LoopRecorder(memory)
  recorder = own
  const beat_ms = readBeatMs(memory)
  let due_ms = performance.now() + beat_ms
  let used = process.threadCpuUsage()
  const timer = setInterval(() => {
    const now_ms = performance.now()
    const usage = process.threadCpuUsage()
    const used_us = usage.user - used.user + usage.system - used.system
    own.beat(Math.max(0, now_ms - due_ms), used_us / 1000)
    due_ms = now_ms + beat_ms
    used = usage
  }, beat_ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** Encodes the name of a kind of work: a route, or a kind of message. */
export function nameWork(name: string): WorkName {
  return new TextEncoder().encode(name).slice(0, NAME_BYTES_MAX)
}

/** Runs a request's handler. `resumeWork` names this request, also after an await in it. */
export function runWork<T>(name: WorkName, run: () => T, span: RequestSpan | null = null): T {
  last_request_id = (last_request_id % REQUEST_IDS_MAX) + 1
  const work: ThreadWork = { name, request_id: last_request_id, span, project_id: 0 }
  recorder?.record(name, work.request_id, 0)
  return current.run(work, run)
}

/** Starts what outlives the current request and serves others: its events are no request's. */
export function outsideRequests<T>(start: () => T): T {
  return current.exit(start)
}

/** Records work that is done without an await. `id` is its request or call, 0 if it has none. */
export function beginWork(name: WorkName, id: number, project_id: number): void {
  recorder?.record(name, id, project_id)
}

/** Records that the current request's work continues. To be called after an await. */
export function resumeWork(): void {
  const work = current.getStore()
  if (work !== undefined) recorder?.record(work.name, work.request_id, work.project_id)
}

/** Records whose data the current request's work is about. */
export function noteProject(project_id: number): void {
  const work = current.getStore()
  if (work === undefined) return
  work.project_id = project_id
  recorder?.record(work.name, work.request_id, project_id)
}

/** The span of the current request; null for one that is not traced, and outside of requests. */
export function currentSpan(): RequestSpan | null {
  return current.getStore()?.span ?? null
}

/** The number of the current request, for log lines; 0 outside of requests. */
export function currentRequestId(): number {
  return current.getStore()?.request_id ?? 0
}
