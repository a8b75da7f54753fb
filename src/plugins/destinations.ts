/** Tells destinations of stored events: follows the event log for each of them, tries again, and gives up in the open. */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { ControlDB } from '../projects/access.ts'
import { openReader } from '../storage/sqlite/sqlite.ts'
import type { Addresses } from './addresses.ts'
import {
  findPluginConfig,
  listDestinations,
  type PluginConfig,
  recordSent,
} from './plugin-config.ts'
import { addLogEntry, type LogType } from './plugin-log.ts'
import { type PostResult, postWebhook } from './webhook.ts'

export type DestinationContext = {
  readonly data_dir: string
  readonly control: ControlDB
  readonly addresses: Addresses
  readonly log: { error(fields: object, message: string): void }
  readonly now: () => Date
  /** For tests: the pause before the second try; each further one is twice as long. */
  readonly retry_ms?: number
}

const LOOK_MS = 500
const RETRY_MS = 1000
const TRIES_MAX = 6
/** After a failure of ours (a full disk, say) the same events are not sent again at once. */
const FAILED_PAUSE_MS = 30_000
const EVENTS_PER_POST = 100
/** Events read at a time, of which a destination may want none. */
const EVENTS_READ_MAX = 1000

const SELECT_EVENTS = `select seq, uuid, event, distinct_id, person_id, timestamp, properties
from events
where seq > ? and seq <= ? and project_id = ?
order by seq
limit ${EVENTS_READ_MAX}`

/** Events that stay in the log for those who have not taken them yet: some hundred megabytes at most. */
const KEPT_MAX = 500_000

/**
 * Up to where the log may be trimmed when everything up to `up_to_seq` is in files: destinations that are on take first
 * what they are behind with. Whoever is behind by more than `kept_max` events skips some, and is told which.
 */
export function trimLimit(db: ControlDB, up_to_seq: number, kept_max = KEPT_MAX): number {
  const behind = listDestinations(db).map(({ sent_seq }) => sent_seq ?? up_to_seq)
  return Math.min(up_to_seq, Math.max(up_to_seq - kept_max, Math.min(...behind, up_to_seq)))
}

type DestinationEvent = {
  readonly seq: number
  readonly uuid: Uint8Array
  readonly event: string
  readonly distinct_id: string
  readonly person_id: Uint8Array
  readonly timestamp: number
  readonly properties: string
}

type DestinationLogState = { readonly seq: number; readonly trimmed_seq: number }

/** Serves every destination from `start` to `close`; each at its own pace. */
export class Destinations {
  readonly #context: DestinationContext
  readonly #events: Database
  readonly #busy = new Map<number, Promise<void>>()
  #timer: Timer | null = null
  #is_closed = false
  /** Ends what is waited for now. A promise of the end would keep a word about everything that ever waited. */
  readonly #stops = new Set<() => void>()

  /** events.db must exist. */
  constructor(context: DestinationContext) {
    this.#context = context
    this.#events = openReader(join(context.data_dir, 'events.db'))
    this.#forgetLost()
  }

  /**
   * Events that were sent may be gone since: a backup has the events of a moment before, and a power cut takes those
   * that nobody was told of. Others get their numbers then, and are still to be sent.
   */
  #forgetLost(): void {
    const { seq } = this.#state()
    for (const { id, sent_seq } of listDestinations(this.#context.control)) {
      if (sent_seq !== null && sent_seq > seq) recordSent(this.#context.control, id, seq)
    }
  }

  /** Looks for new events now and from then on. */
  start(): void {
    if (this.#is_closed) return
    try {
      this.look()
    } catch (err) {
      this.#context.log.error({ err }, 'destinations could not be looked after')
    }
    this.#timer = setTimeout(() => this.start(), LOOK_MS)
  }

  /** The last committed event: what a new destination is not told of. */
  lastSeq(): number {
    return this.#state().seq
  }

  /** Begins to serve those destinations that are not being served. */
  look(): void {
    const { seq } = this.#state()
    for (const config of listDestinations(this.#context.control)) {
      if (this.#busy.has(config.id) || (config.sent_seq ?? seq) >= seq) continue
      const work = this.#serve(config, seq)
        .catch(async (err: unknown) => {
          this.#context.log.error({ err, plugin_config_id: config.id }, 'a destination failed')
          await this.#unlessClosed(Bun.sleep(FAILED_PAUSE_MS))
        })
        .finally(() => this.#busy.delete(config.id))
      this.#busy.set(config.id, work)
    }
  }

  /** Resolves when nothing is being sent any more. What was not, is after the next start. */
  async close(): Promise<void> {
    this.#is_closed = true
    for (const stop of this.#stops) stop()
    if (this.#timer !== null) clearTimeout(this.#timer)
    await Promise.all(this.#busy.values())
    this.#events.close(true)
  }

  async #serve(config: PluginConfig, up_to_seq: number): Promise<void> {
    let sent_seq = config.sent_seq ?? up_to_seq
    const allowed = wantedEvents(config)
    while (sent_seq < up_to_seq && !this.#is_closed) {
      const { rows, trimmed_seq } = this.#read(config, sent_seq, up_to_seq)
      if (sent_seq < trimmed_seq) this.#tellOfGap(config, sent_seq, trimmed_seq)
      const chosen = rows.filter(({ event }) => allowed === null || allowed.has(event))
      for (let at = 0; at < chosen.length; at += EVENTS_PER_POST) {
        const some = chosen.slice(at, at + EVENTS_PER_POST)
        if (!(await this.#send(config, some))) return
        recordSent(this.#context.control, config.id, some.at(-1)?.seq ?? sent_seq)
      }
      sent_seq = rows.length < EVENTS_READ_MAX ? up_to_seq : (rows.at(-1)?.seq ?? up_to_seq)
      recordSent(this.#context.control, config.id, sent_seq)
    }
  }

  /** Events of the project in the log, and from where the log begins: both of one moment. */
  #read(
    { project_id }: PluginConfig,
    after_seq: number,
    up_to_seq: number,
  ): { readonly rows: readonly DestinationEvent[]; readonly trimmed_seq: number } {
    return this.#events.transaction(() => ({
      rows: this.#events
        .query<DestinationEvent, [number, number, number]>(SELECT_EVENTS)
        .all(after_seq, up_to_seq, project_id),
      trimmed_seq: this.#state().trimmed_seq,
    }))()
  }

  /** Tries until it is taken, refused, or tried often enough; false when there is to be no next one. */
  async #send(config: PluginConfig, rows: readonly DestinationEvent[]): Promise<boolean> {
    const body = JSON.stringify(bodyOf(config, rows))
    for (let tries = 1; ; tries += 1) {
      // It may have been given another address meanwhile.
      const current = findPluginConfig(this.#context.control, config.id) ?? config
      const posted = await this.#unlessClosed(this.#post(current, body))
      if (posted === null) return false
      // Deleted or switched off meanwhile: nobody wants to know.
      if (findPluginConfig(this.#context.control, config.id)?.enabled !== true) return false
      const what = `${rows.length} events`
      if (posted.kind === 'taken') {
        this.#write(config, 'LOG', `${what} sent, answered ${posted.status}.`)
        return true
      }
      if (posted.kind === 'refused' || tries === TRIES_MAX) {
        this.#write(config, 'ERROR', `${what} not sent after ${tries} tries: ${posted.reason}.`)
        return true
      }
      this.#write(config, 'WARN', `${what} not sent yet (try ${tries}): ${posted.reason}.`)
      const pause = Bun.sleep((this.#context.retry_ms ?? RETRY_MS) * 2 ** (tries - 1))
      if ((await this.#unlessClosed(pause)) === null) return false
    }
  }

  /** What comes of it; null when we are closed before: the server's end waits for no receiver. */
  #unlessClosed<T>(work: Promise<T>): Promise<T | null> {
    const { promise, resolve, reject } = Promise.withResolvers<T | null>()
    const stop = (): void => resolve(null)
    this.#stops.add(stop)
    void work.then(resolve, reject).finally(() => this.#stops.delete(stop))
    if (this.#is_closed) stop()
    return promise
  }

  /** The address is looked up and judged again each time: names change where they lead. */
  async #post(config: PluginConfig, body: string): Promise<PostResult> {
    const { url, headers, secret } = config.config as {
      readonly url?: string
      readonly headers?: Readonly<Record<string, string>>
      readonly secret?: string
    }
    try {
      const to = await this.#context.addresses.resolve(new URL(url ?? ''))
      return await postWebhook({ to, headers: headers ?? {}, secret: secret ?? null, body })
    } catch (error) {
      return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) }
    }
  }

  #tellOfGap(config: PluginConfig, sent_seq: number, trimmed_seq: number): void {
    const gap = `Events ${sent_seq + 1} to ${trimmed_seq} of the server were stored away before`
    this.#write(config, 'ERROR', `${gap} they could be sent; those of the project are skipped.`)
  }

  #write(config: PluginConfig, type: LogType, message: string): void {
    const { control, now } = this.#context
    if (findPluginConfig(control, config.id) === null) return
    addLogEntry(control, config, { source: 'PLUGIN', type, message }, now())
  }

  #state(): DestinationLogState {
    const state = this.#events
      .query<DestinationLogState, []>(
        'select seq, trimmed_seq from clock, manifest where clock.id = 1 and manifest.id = 1',
      )
      .get()
    if (state === null) throw new Error('events.db has no clock or no manifest row')
    return state
  }
}

function wantedEvents({ config }: PluginConfig): ReadonlySet<string> | null {
  const { events } = config as { readonly events?: readonly string[] }
  return events === undefined || events.length === 0 ? null : new Set(events)
}

function bodyOf({ id, project_id }: PluginConfig, rows: readonly DestinationEvent[]): object {
  return {
    project_id,
    plugin_config_id: id,
    events: rows.map(({ uuid, event, distinct_id, person_id, timestamp, properties }) => ({
      uuid: uuidText(uuid),
      event,
      distinct_id,
      person_id: uuidText(person_id),
      timestamp: new Date(timestamp / 1000).toISOString(),
      properties: JSON.parse(properties) as unknown,
    })),
  }
}

function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
