/** Copies persons from the home: those whose flags this edge was asked for, again when a copy is older than some seconds. */
import { isObject } from '../json.ts'
import { type CopiedPerson, EdgePersonTimes } from '../storage/persons/edge-persons.ts'
import { SECOND_MS } from '../time.ts'
import { BackOff, type Home, HomeError, sleep } from './home.ts'

/** Ids of one request to the home. */
export const IDS_MAX = 500
/** Ids that wait for a request to the home; further ones are dropped until their flags are asked for again. */
const WAITING_MAX = 20_000
/** Time in which ids gather before the home is asked. */
const GATHER_MS = 20
const TIMEOUT_MS = 10 * SECOND_MS
const RETRY_MAX_MS = 30 * SECOND_MS
/** No person has a longer id. */
const ID_LENGTH_MAX = 400

type PersonsContext = {
  readonly data_dir: string
  readonly home: Home
  readonly refresh_ms: number
  readonly replicate: (persons: readonly CopiedPerson[]) => void
  readonly log: { readonly warn: (fields: object, message: string) => void }
  readonly now: () => Date
}

type WaitingId = { readonly project_id: number; readonly distinct_id: string }

/** Runs from `start` until `close`. */
export class EdgePersons {
  readonly #context: PersonsContext
  readonly #times: EdgePersonTimes
  readonly #back_off = new BackOff(SECOND_MS, RETRY_MAX_MS)
  readonly #stop = new AbortController()
  readonly #waiting = new Map<string, WaitingId>()
  #wake = Promise.withResolvers<void>()
  #running: Promise<void> = Promise.resolve()

  constructor(context: PersonsContext) {
    this.#context = context
    this.#times = new EdgePersonTimes(context.data_dir)
  }

  /** True when there is a copy of the person of an id, or the home has no such person. An old copy is fetched again. */
  knows(project_id: number, distinct_id: string): boolean {
    const fetched_at = this.#times.fetchedAt(project_id, distinct_id)
    const { refresh_ms, now } = this.#context
    const is_fresh = fetched_at !== null && now().getTime() - fetched_at / 1000 < refresh_ms
    if (!is_fresh) this.#expect({ project_id, distinct_id })
    return fetched_at !== null
  }

  start(): void {
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#wake.resolve()
    await this.#running
    this.#times.close()
  }

  #expect(id: WaitingId): void {
    const is_id = id.distinct_id !== '' && id.distinct_id.length <= ID_LENGTH_MAX
    if (!is_id || this.#waiting.size >= WAITING_MAX) return
    this.#waiting.set(`${id.project_id}:${id.distinct_id}`, id)
    this.#wake.resolve()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#wake.promise
      await sleep(GATHER_MS, signal)
      const batch = [...this.#waiting].slice(0, IDS_MAX)
      if (batch.length < IDS_MAX) this.#wake = Promise.withResolvers()
      if (signal.aborted || batch.length === 0) continue
      try {
        await this.#fetch(batch.map(([, id]) => id))
        for (const [key] of batch) this.#waiting.delete(key)
        this.#back_off.reset()
      } catch (error) {
        if (signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        this.#context.log.warn({ reason }, 'the home did not tell of persons')
        // They wait again once their flags are asked for.
        this.#waiting.clear()
        await sleep(this.#back_off.next(), signal)
      }
    }
  }

  async #fetch(ids: readonly WaitingId[]): Promise<void> {
    const { home, replicate } = this.#context
    const init = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ids: ids.map((id) => [id.project_id, id.distinct_id]) }),
      signal: this.#stop.signal,
    }
    const answer = await home.call('/_edge/v1/persons', init, TIMEOUT_MS)
    const body: unknown = await answer.json()
    const persons = isObject(body) ? body['persons'] : null
    if (!Array.isArray(persons) || persons.length !== ids.length || !persons.every(isFound)) {
      throw new HomeError(answer.status, 'the home does not speak this wire')
    }
    replicate(ids.map((id, index) => ({ ...id, person: persons[index] as CopiedPerson['person'] })))
  }
}

function isFound(value: unknown): boolean {
  if (value === null) return true
  if (!isObject(value)) return false
  const { id, properties, cohorts } = value
  const is_id = typeof id === 'string' && /^[0-9a-f]{32}$/.test(id)
  return is_id && isObject(properties) && Array.isArray(cohorts) && cohorts.every(Number.isInteger)
}
