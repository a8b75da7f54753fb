/**
 * Sends stored events to destinations: follows the event log for each of them, retries with back-off, logs events that it
 * gives up.
 */

import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { MIB } from '../bytes.ts'
import { errorMessage } from '../error-message.ts'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../projects/rights/access.ts'
import { openReader } from '../storage/sqlite/sqlite.ts'
import { formatUuid } from '../uuid.ts'
import type { Addresses } from './addresses.ts'
import { REST_HOOK_ID } from './catalog.ts'
import { findPluginConfig, listDestinations, moveSent, type PluginConfig } from './plugin-config.ts'
import { addLogEntry, type LogType } from './plugin-log.ts'
import {
  type DestinationEvent,
  type HookEvent,
  type HookPerson,
  hookBody,
  hookEventOf,
  hookSettings,
} from './rest-hook.ts'
import { type PostResult, postWebhook } from './webhook.ts'

type DestinationContext = {
  readonly data_dir: string
  readonly control: ControlDB
  readonly addresses: Addresses
  readonly log: { error(fields: object, message: string): void }
  readonly now: () => Date
  /** Finds those of some events that are an action, by their ids, with their persons. */
  readonly matchAction: (
    project_id: number,
    action_id: number,
    events: readonly HookEvent[],
  ) => Promise<ReadonlyMap<string, HookPerson>>
  /** The pause before the second try, doubled for each further one; tests shorten it. */
  readonly retry_ms?: number
}

const LOOK_MS = 500
const RETRY_MS = 1000
const TRIES_MAX = 6
/** Pause after a failure of the server itself, such as a full disk, before the same events are sent again. */
const FAILED_PAUSE_MS = 30_000
const EVENTS_PER_POST = 100
/** Characters of properties in one body, beyond which it has fewer events: each may have a MiB. */
const POST_LENGTH_MAX = MIB
/** Events read at a time, before the destination's filter, and characters of their properties. */
const EVENTS_READ_MAX = 1000
const READ_LENGTH_MAX = 4 * MIB
/** Sequence numbers read at a time: 500,000 events of other projects held the main thread for more than a second. */
const SEQS_READ_MAX = 5000

const SELECT_EVENTS = `select seq, uuid, event, distinct_id, person_id, timestamp, properties
from events
where seq > ? and seq <= ? and project_id = ?
order by seq`

/** Events that stay in the log for slow destinations: a few hundred megabytes. */
const KEPT_MAX = 500_000

/**
 * The sequence number up to which the log may be trimmed when everything up to `up_to_seq` is in files: enabled
 * destinations need the events after their position. One that is more than `kept_max` behind skips some, with a log
 * entry.
 */
export function trimLimit(db: ControlDB, up_to_seq: number, kept_max = KEPT_MAX): number {
  const positions = listDestinations(db).map(({ sent_seq }) => sent_seq ?? up_to_seq)
  return Math.min(up_to_seq, Math.max(up_to_seq - kept_max, Math.min(...positions, up_to_seq)))
}

/** One post to a destination, and the position that it reaches by it. */
type Delivery = {
  readonly seq: number
  readonly event_count: number
  /** Built when it is posted: the properties of a thousand events may take long to parse at once. */
  readonly body: () => object
}

type ReadEvents = {
  readonly rows: readonly DestinationEvent[]
  readonly end_seq: number
  readonly trimmed_seq: number
}

type DestinationLogState = { readonly seq: number; readonly trimmed_seq: number }

/** Serves every destination from `start` to `close`, independently of each other. */
export class Destinations {
  readonly #context: DestinationContext
  readonly #events: Database
  readonly #busy = new Map<number, Promise<void>>()
  #timer: Timer | null = null
  #is_closed = false
  /** Callbacks that end current waits at `close`. One shared promise would accumulate a reaction per wait for ever. */
  readonly #stops = new Set<() => void>()

  /** events.db must exist. */
  constructor(context: DestinationContext) {
    this.#context = context
    this.#events = openReader(join(context.data_dir, 'events.db'))
    this.#rewindLost()
  }

  /**
   * Rewinds positions beyond the log's end: after a restored backup, or a power cut that lost unanswered events, new
   * events get the sequence numbers of lost ones and must be sent.
   */
  #rewindLost(): void {
    const { seq } = this.#state()
    for (const { id, sent_seq } of listDestinations(this.#context.control)) {
      if (sent_seq !== null && sent_seq > seq) {
        moveSent(this.#context.control, id, { from: sent_seq, to: seq })
      }
    }
  }

  /** Polls for new events, now and twice a second. */
  start(): void {
    if (this.#is_closed) return
    try {
      this.look()
    } catch (err) {
      this.#context.log.error({ err }, 'destinations could not be read')
    }
    this.#timer = setTimeout(() => this.start(), LOOK_MS)
  }

  /** The last committed event; a new destination starts after it. */
  lastSeq(): number {
    return this.#state().seq
  }

  /** Starts to serve destinations that are behind and not being served. */
  look(): void {
    const { seq } = this.#state()
    for (const config of listDestinations(this.#context.control)) {
      if (this.#busy.has(config.id) || (config.sent_seq ?? seq) >= seq) continue
      const work = this.#serve(config.id, seq)
        .catch(async (err: unknown) => {
          this.#context.log.error({ err, plugin_config_id: config.id }, 'a destination failed')
          await this.#unlessClosed(Bun.sleep(FAILED_PAUSE_MS))
        })
        .finally(() => this.#busy.delete(config.id))
      this.#busy.set(config.id, work)
    }
  }

  /** Resolves when nothing is being sent any more. The next start sends the rest. */
  async close(): Promise<void> {
    this.#is_closed = true
    for (const stop of this.#stops) stop()
    if (this.#timer !== null) clearTimeout(this.#timer)
    await Promise.all(this.#busy.values())
    this.#events.close(true)
  }

  async #serve(id: number, up_to_seq: number): Promise<void> {
    const { control } = this.#context
    while (!this.#is_closed) {
      // Other events may have been chosen since the last read.
      const config = findPluginConfig(control, id)
      let sent_seq = config?.sent_seq ?? up_to_seq
      if (config?.enabled !== true || sent_seq >= up_to_seq) return
      const { rows, end_seq, trimmed_seq } = this.#read(config, sent_seq, up_to_seq)
      if (sent_seq < trimmed_seq) this.#logGap(config, sent_seq, trimmed_seq)
      const deliveries = await this.#unlessClosed(this.#deliveriesOf(config, rows))
      if (deliveries === null) return
      for (const delivery of deliveries) {
        if (!(await this.#send(config, delivery))) return
        // Moved by others: it was switched off and on, and begins at another event.
        if (!moveSent(control, id, { from: sent_seq, to: delivery.seq })) return
        sent_seq = delivery.seq
      }
      if (!moveSent(control, id, { from: sent_seq, to: end_seq })) return
      // Requests have their turn between two reads.
      await Bun.sleep(0)
    }
  }

  /** Divides events into posts: for a hook one per event that is its action, else up to a hundred events each. */
  async #deliveriesOf(
    config: PluginConfig,
    rows: readonly DestinationEvent[],
  ): Promise<readonly Delivery[]> {
    if (config.plugin_id === REST_HOOK_ID) {
      const events = rows.map(hookEventOf)
      const { action } = hookSettings(config)
      const matches = await this.#context
        .matchAction(config.project_id, action, events)
        .catch((error: unknown) => {
          // They wait until the action is mended, and are tried again meanwhile.
          if (error instanceof Refusal)
            this.#addLog(config, 'WARN', `Events cannot be sent yet: ${error.detail}`)
          throw error
        })
      return rows.flatMap((row, index) => {
        const person = matches.get(events[index]?.uuid ?? '')
        if (person === undefined) return []
        return { seq: row.seq, event_count: 1, body: () => hookBody(config, row, person) }
      })
    }
    const allowed = eventFilterOf(config)
    const events = rows.filter(({ event }) => allowed === null || allowed.has(event))
    return inPosts(events).map((batch) => ({
      seq: batch.at(-1)?.seq ?? 0,
      event_count: batch.length,
      body: () => bodyOf(config, batch),
    }))
  }

  /** Reads the project's next events up to `end_seq`, and where the log begins, in one transaction. */
  #read({ project_id }: PluginConfig, after_seq: number, up_to_seq: number): ReadEvents {
    return this.#events.transaction(() => {
      const { trimmed_seq } = this.#state()
      const from_seq = Math.max(after_seq, trimmed_seq)
      const end_seq = Math.min(up_to_seq, from_seq + SEQS_READ_MAX)
      const rows: DestinationEvent[] = []
      let length = 0
      const query = this.#events.query<DestinationEvent, [number, number, number]>(SELECT_EVENTS)
      for (const row of query.iterate(from_seq, end_seq, project_id)) {
        rows.push(row)
        length += row.properties.length
        if (rows.length >= EVENTS_READ_MAX || length >= READ_LENGTH_MAX)
          return { rows, end_seq: row.seq, trimmed_seq }
      }
      return { rows, end_seq, trimmed_seq }
    })()
  }

  /**
   * Posts events until they are delivered, refused, or tried `TRIES_MAX` times. False: stop serving this destination.
   */
  async #send(config: PluginConfig, delivery: Delivery): Promise<boolean> {
    const body = JSON.stringify(delivery.body())
    for (let tries = 1; ; tries += 1) {
      // The address may have been changed since the last try.
      const current = findPluginConfig(this.#context.control, config.id) ?? config
      const posted = await this.#unlessClosed(this.#post(current, body))
      if (posted === null) return false
      // Deleted or disabled in the meantime: no log entry, no retry.
      if (findPluginConfig(this.#context.control, config.id)?.enabled !== true) return false
      const what = `${delivery.event_count} events`
      if (posted.kind === 'delivered') {
        this.#addLog(config, 'LOG', `${what} sent, answered ${posted.status}.`)
        return true
      }
      if (posted.kind === 'refused' || tries === TRIES_MAX) {
        this.#addLog(config, 'ERROR', `${what} not sent after ${tries} tries: ${posted.reason}.`)
        return true
      }
      this.#addLog(config, 'WARN', `${what} not sent yet (try ${tries}): ${posted.reason}.`)
      const pause = Bun.sleep((this.#context.retry_ms ?? RETRY_MS) * 2 ** (tries - 1))
      if ((await this.#unlessClosed(pause)) === null) return false
    }
  }

  /** The result of `work`; null if `close` comes first: the shutdown waits for no receiver. */
  #unlessClosed<T>(work: Promise<T>): Promise<T | null> {
    const { promise, resolve, reject } = Promise.withResolvers<T | null>()
    const stop = (): void => resolve(null)
    this.#stops.add(stop)
    void work.then(resolve, reject).finally(() => this.#stops.delete(stop))
    if (this.#is_closed) stop()
    return promise
  }

  /** Posts once. The name is resolved and checked each time: its address may have changed (DNS rebinding). */
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
      return { kind: 'failed', reason: errorMessage(error) }
    }
  }

  #logGap(config: PluginConfig, sent_seq: number, trimmed_seq: number): void {
    const gap = `Events ${sent_seq + 1} to ${trimmed_seq} of the server were stored away before`
    this.#addLog(config, 'ERROR', `${gap} they could be sent; those of the project are skipped.`)
  }

  #addLog(config: PluginConfig, type: LogType, message: string): void {
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

function eventFilterOf({ config }: PluginConfig): ReadonlySet<string> | null {
  const { events } = config as { readonly events?: readonly string[] }
  return events === undefined || events.length === 0 ? null : new Set(events)
}

/** Divides events into those of one body each. */
function inPosts(events: readonly DestinationEvent[]): readonly (readonly DestinationEvent[])[] {
  const posts: DestinationEvent[][] = []
  let length = 0
  for (const event of events) {
    const post = posts.at(-1)
    length += event.properties.length
    if (post === undefined || post.length >= EVENTS_PER_POST || length > POST_LENGTH_MAX) {
      posts.push([event])
      length = event.properties.length
    } else post.push(event)
  }
  return posts
}

function bodyOf({ id, project_id }: PluginConfig, rows: readonly DestinationEvent[]): object {
  return {
    project_id,
    plugin_config_id: id,
    events: rows.map(({ uuid, event, distinct_id, person_id, timestamp, properties }) => ({
      uuid: formatUuid(uuid),
      event,
      distinct_id,
      person_id: formatUuid(person_id),
      timestamp: new Date(timestamp / 1000).toISOString(),
      properties: JSON.parse(properties) as unknown,
    })),
  }
}
