/**
 * Copies persons and groups from the home: those whose flags this edge was asked for, again when a copy is older than
 * some seconds.
 */
import { BackOff, sleep } from '../back-off.ts'
import { MIB } from '../bytes.ts'
import { errorMessage } from '../error-message.ts'
import { GROUP_LENGTH_MAX } from '../ingest/pipeline/person-steps.ts'
import { isObject } from '../json.ts'
import {
  type CopiedGroup,
  type CopiedPerson,
  type CopiesFromHome,
  EdgeCopyTimes,
} from '../storage/persons/edge-persons.ts'
import { SECOND_MS } from '../time.ts'
import { type Home, HomeError, readJson } from './home.ts'

/** The status with which the home refuses a request that names too many persons. */
const TOO_LARGE = 413
/** Bytes of the home's answer. */
const ANSWER_BYTES_MAX = 64 * MIB
/** Ids, and keys of groups, of one request to the home. */
export const IDS_MAX = 500
/** Ids and keys that wait for a request to the home; further ones are dropped until their flags are asked for again. */
const WAITING_MAX = 20_000
/** Time in which ids gather before the home is asked. */
const GATHER_MS = 20
const TIMEOUT_MS = 10 * SECOND_MS
const RETRY_MAX_MS = 30 * SECOND_MS
/** No person has a longer id, no group a longer key: a character may have two units. */
const ID_LENGTH_MAX = 2 * GROUP_LENGTH_MAX

type PersonsContext = {
  readonly data_dir: string
  readonly home: Home
  readonly refresh_ms: number
  readonly replicate: (copies: CopiesFromHome) => void
  readonly log: { readonly warn: (fields: object, message: string) => void }
  readonly now: () => Date
}

type CopiedPersonName = Pick<CopiedPerson, 'project_id' | 'distinct_id'>
type CopiedGroupName = Pick<CopiedGroup, 'project_id' | 'group_type_index' | 'group_key'>

/** Runs from `start` until `close`. */
export class EdgePersons {
  readonly #context: PersonsContext
  readonly #times: EdgeCopyTimes
  readonly #back_off = new BackOff(SECOND_MS, RETRY_MAX_MS)
  readonly #stop = new AbortController()
  readonly #waiting = new Map<string, CopiedPersonName | CopiedGroupName>()
  #wake = Promise.withResolvers<void>()
  #running: Promise<void> = Promise.resolve()
  /** Fewer after an answer that would have been too long. */
  #ids_max = IDS_MAX

  constructor(context: PersonsContext) {
    this.#context = context
    this.#times = new EdgeCopyTimes(context.data_dir)
  }

  /** True when there is a copy of the person of an id, or the home has no such person. An old copy is fetched again. */
  knowsPerson(project_id: number, distinct_id: string): boolean {
    if (!canBeStored(distinct_id)) return true
    const fetched_at = this.#times.ofPerson(project_id, distinct_id)
    if (!this.#isFresh(fetched_at)) {
      this.#expect(`p:${project_id}:${distinct_id}`, { project_id, distinct_id })
    }
    return fetched_at !== null
  }

  /** The same for a group. */
  knowsGroup(project_id: number, group_type_index: number, group_key: string): boolean {
    if (!canBeStored(group_key)) return true
    const fetched_at = this.#times.ofGroup(project_id, group_type_index, group_key)
    if (!this.#isFresh(fetched_at)) {
      const group = { project_id, group_type_index, group_key }
      this.#expect(`g:${project_id}:${group_type_index}:${group_key}`, group)
    }
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

  #isFresh(fetched_at: number | null): boolean {
    const { refresh_ms, now } = this.#context
    if (fetched_at === null) return false
    const age_ms = now().getTime() - fetched_at / 1000
    // A negative age: the clock was set back.
    return age_ms >= 0 && age_ms < refresh_ms
  }

  #expect(key: string, name: CopiedPersonName | CopiedGroupName): void {
    if (this.#waiting.size >= WAITING_MAX) return
    this.#waiting.set(key, name)
    this.#wake.resolve()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#wake.promise
      await sleep(GATHER_MS, signal)
      const batch = [...this.#waiting].slice(0, this.#ids_max)
      if (batch.length < this.#ids_max) this.#wake = Promise.withResolvers()
      if (signal.aborted || batch.length === 0) continue
      try {
        await this.#fetch(batch.map(([, name]) => name))
        for (const [key] of batch) this.#waiting.delete(key)
        this.#back_off.reset()
        this.#ids_max = Math.min(IDS_MAX, this.#ids_max * 2)
      } catch (error) {
        if (signal.aborted) return
        const is_too_long = error instanceof HomeError && error.status === TOO_LARGE
        if (is_too_long && batch.length > 1) {
          this.#ids_max = Math.ceil(batch.length / 2)
          this.#wake.resolve()
          continue
        }
        const reason = errorMessage(error)
        this.#context.log.warn({ reason }, 'the home did not send persons')
        // They wait again once their flags are asked for.
        this.#waiting.clear()
        await sleep(this.#back_off.next(), signal)
      }
    }
  }

  async #fetch(names: readonly (CopiedPersonName | CopiedGroupName)[]): Promise<void> {
    const { home, replicate } = this.#context
    const persons = names.filter((name) => 'distinct_id' in name)
    const groups = names.filter((name) => 'group_key' in name)
    const request = {
      ids: persons.map((name) => [name.project_id, name.distinct_id]),
      groups: groups.map((name) => [name.project_id, name.group_type_index, name.group_key]),
    }
    const init = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(request),
      signal: this.#stop.signal,
    }
    const answer = await home.call('/_edge/v1/persons', init, TIMEOUT_MS)
    const body = await readJson(answer, ANSWER_BYTES_MAX)
    const found = isObject(body) ? body : {}
    const found_persons = readList(found['persons'], persons.length, isFoundPerson)
    const found_groups = readList(found['groups'], groups.length, isFoundGroup)
    if (found_persons === null || found_groups === null) {
      throw new HomeError(answer.status, 'the home does not speak this wire')
    }
    replicate({
      persons: persons.map((name, index) => ({
        ...name,
        person: found_persons[index] as CopiedPerson['person'],
      })),
      groups: groups.map((name, index) => ({
        ...name,
        properties: found_groups[index] as CopiedGroup['properties'],
      })),
    })
  }
}

const canBeStored = (id: string): boolean => id !== '' && id.length <= ID_LENGTH_MAX

/** Reads a list of the home's answer; null for a form that this version does not know. */
function readList(
  value: unknown,
  length: number,
  isItem: (item: unknown) => boolean,
): readonly unknown[] | null {
  return Array.isArray(value) && value.length === length && value.every(isItem) ? value : null
}

const isFoundGroup = (value: unknown): boolean => value === null || isObject(value)

function isFoundPerson(value: unknown): boolean {
  if (value === null) return true
  if (!isObject(value)) return false
  const { id, properties, cohorts, overrides } = value
  const is_id = typeof id === 'string' && /^[0-9a-f]{32}$/.test(id)
  const has_cohorts = Array.isArray(cohorts) && cohorts.every(Number.isInteger)
  const has_overrides =
    isObject(overrides) && Object.values(overrides).every((key) => typeof key === 'string')
  return is_id && isObject(properties) && has_cohorts && has_overrides
}
