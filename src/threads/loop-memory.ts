/** Shared memory in which a thread records its heartbeat, its lag and its current work, so that others can read them while it hangs. */

/** The threads that are watched, each with an event loop whose memory other threads can read. */
export type EventLoops = Readonly<
  Record<'main' | 'data' | 'prepare' | 'prepare_large', SharedArrayBuffer>
>

/** Delays of a thread's timer since its start. Times in seconds. */
type Lag = {
  /** Delays by bucket, as many as `LAG_BUCKETS_S` has and one for all that are longer. */
  readonly counts: readonly number[]
  readonly sum_s: number
  readonly max_s: number
}

/** A stretch of work on a thread. Numbers are 0 where there is none. */
export type WorkRecord = {
  /** A route as `GET /api/projects/:project_id/`, or a kind of message; '' before the first one. */
  readonly name: string
  readonly request_id: number
  readonly project_id: number
  /** True if it began or continued after the last heartbeat: then it holds the thread now. */
  readonly is_current: boolean
}

/** Upper bounds of the histogram's buckets in seconds, inclusive. */
export const LAG_BUCKETS_S: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

/** Time between two heartbeats. A stall is seen that much shorter at most. */
export const HEARTBEAT_MS = 20

/** The lag from which on a turn's processor time is kept. */
const LONG_TURN_S = 0.02

/** Bytes of a name that are kept; the longest route has about 100. */
export const NAME_BYTES_MAX = 160

/** Whole numbers, by place. The histogram's counts follow them. */
const BEATS = 0
const WORK_BEAT = 1
const REQUEST = 2
const PROJECT = 3
const NAME_BYTES = 4
const BEAT_MS = 5
const COUNTS = 6

const NUMBERS_BYTES = 4 * (COUNTS + LAG_BUCKETS_S.length + 1)
/** Sum and maximum are doubles, which need a place that 8 divides. */
const SUMS_AT = Math.ceil(NUMBERS_BYTES / 8) * 8
/** The sum of the lags, the longest, the processor time of the last long turn, and the most between two heartbeats. */
const SUMS = 4
const NAME_AT = SUMS_AT + 8 * SUMS
const BYTES = NAME_AT + NAME_BYTES_MAX

/** Allocates the memory of every watched thread, whose heart beats every `beat_ms`. */
export function createEventLoops(beat_ms = HEARTBEAT_MS): EventLoops {
  const create = (): SharedArrayBuffer => createMemory(beat_ms)
  return { main: create(), data: create(), prepare: create(), prepare_large: create() }
}

function createMemory(beat_ms: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(BYTES)
  new Int32Array(memory, 0, COUNTS)[BEAT_MS] = beat_ms
  return memory
}

/** Writes the heartbeat, lag and work of one thread. */
export class LoopRecorder {
  readonly #numbers: Int32Array
  readonly #sums: Float64Array
  readonly #name: Uint8Array

  constructor(memory: SharedArrayBuffer) {
    this.#numbers = new Int32Array(memory, 0, NUMBERS_BYTES / 4)
    this.#sums = new Float64Array(memory, SUMS_AT, SUMS)
    this.#name = new Uint8Array(memory, NAME_AT, NAME_BYTES_MAX)
  }

  /** Counts a heartbeat that came `late_ms` late; `cpu_ms` is the thread's processor time since the one before. */
  beat(late_ms: number, cpu_ms: number): void {
    const late_s = late_ms / 1000
    const bucket = LAG_BUCKETS_S.findIndex((bound_s) => late_s <= bound_s)
    const at = COUNTS + (bucket === -1 ? LAG_BUCKETS_S.length : bucket)
    this.#numbers[at] = (this.#numbers[at] ?? 0) + 1
    this.#sums[0] = (this.#sums[0] ?? 0) + late_s
    this.#sums[1] = Math.max(this.#sums[1] ?? 0, late_s)
    // A short turn may follow before anyone has looked.
    if (late_s > LONG_TURN_S) this.#sums[2] = cpu_ms
    this.#sums[3] = Math.max(this.#sums[3] ?? 0, cpu_ms)
    Atomics.add(this.#numbers, BEATS, 1)
  }

  /** Records the work that begins or continues now. Costs about 40 ns. */
  record(name: Uint8Array, request_id: number, project_id: number): void {
    const numbers = this.#numbers
    numbers[REQUEST] = request_id
    numbers[PROJECT] = project_id
    numbers[NAME_BYTES] = name.length
    this.#name.set(name)
    numbers[WORK_BEAT] = numbers[BEATS] ?? 0
  }
}

/** The time between two heartbeats of a thread. */
export function readBeatMs(memory: SharedArrayBuffer): number {
  return new Int32Array(memory, 0, COUNTS)[BEAT_MS] ?? HEARTBEAT_MS
}

/** Heartbeats since the thread started; 0 before the first. */
export function readBeats(memory: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(memory, 0, COUNTS), BEATS)
}

/** The last recorded work of a thread. Exact while the thread hangs; may be torn while it runs. */
export function readWork(memory: SharedArrayBuffer): WorkRecord {
  const numbers = new Int32Array(memory, 0, COUNTS)
  // A decoder refuses shared memory.
  const name = new Uint8Array(memory, NAME_AT, numbers[NAME_BYTES]).slice()
  return {
    name: new TextDecoder().decode(name),
    request_id: numbers[REQUEST] ?? 0,
    project_id: numbers[PROJECT] ?? 0,
    is_current: numbers[WORK_BEAT] === numbers[BEATS],
  }
}

/** The lag of a thread since its start. */
export function readLag(memory: SharedArrayBuffer): Lag {
  const [sum_s = 0, max_s = 0] = new Float64Array(memory, SUMS_AT, SUMS)
  return {
    counts: [...new Int32Array(memory, 4 * COUNTS, LAG_BUCKETS_S.length + 1)],
    sum_s,
    max_s,
  }
}

/** The processor time that a thread used in its last long turn, up to a heartbeat before included, in milliseconds. */
export function readTurnCpu(memory: SharedArrayBuffer): number {
  return new Float64Array(memory, SUMS_AT, SUMS)[2] ?? 0
}

/**
 * The most processor time that a thread has used between two heartbeats since the last call, in milliseconds: its longest
 * turn, and up to a heartbeat more.
 */
export function takeLongestTurn(memory: SharedArrayBuffer): number {
  const sums = new Float64Array(memory, SUMS_AT, SUMS)
  const longest_ms = sums[3] ?? 0
  sums[3] = 0
  return longest_ms
}
