/** The shipper: carries the log and the rows of persons to ClickHouse in rounds, exactly once, and deletes there. */

import type { Database } from 'bun:sqlite'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '../error-message.ts'
import type { ClickHouseNodes } from '../storage/clickhouse/clickhouse-nodes.ts'
import { monthsBefore } from '../storage/files/file-months.ts'
import { readLogState } from '../storage/files/manifest.ts'
import { sha256Of, temporaryFolder } from '../storage/files/parquet.ts'
import { listPendingRemovals } from '../storage/log/pending-removals.ts'
import {
  findShipment,
  findShippingPosition,
  getLogName,
  listShipmentIds,
  newestLogId,
  type Shipment,
  type ShippingPosition,
  type ShippingStep,
} from '../storage/log/shipments.ts'
import { openReader } from '../storage/sqlite/sqlite.ts'
import { DAY_MS, HOUR_MS } from '../time.ts'
import { ShippingChild } from './child.ts'
import type { ProjectClaims } from './claims.ts'
import {
  deleteMonthsBefore,
  deletePersons,
  deleteProject,
  deleteRemoved,
  markRemoval,
} from './deletions.ts'
import { reachShippingFault, type ShippingFault } from './fault-injection.ts'
import { type LogPosition, PositionWaiters } from './position-waiters.ts'
import {
  type BatchFile,
  endInserts,
  listStoredSeqs,
  sendBatch,
  sendMissing,
  sendPersonLines,
} from './send.ts'
import { shipmentPath, shipmentsFolder, sweepShipments } from './shipment-files.ts'

/** The part of a pino logger that the shipper uses. */
type ShippingLog = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

type ShippingContext = {
  readonly data_dir: string
  readonly nodes: ClickHouseNodes
  readonly claims: Pick<ProjectClaims, 'claim' | 'owns'>
  /** The one writer of events.db. */
  readonly capture: {
    commitShipping(step: ShippingStep): Promise<void>
    trim(up_to_seq: number): Promise<void>
    removeEvents(removal_id: number): Promise<void>
    finishRemoval(removal_id: number): Promise<void>
  }
  /** The projects of this folder. */
  readonly listProjects: () => readonly number[]
  /** The retention of a project in months; null for unlimited. */
  readonly monthsKept: (project_id: number) => number | null
  /** Up to where the log may be trimmed for those who read it themselves. */
  readonly trimmable: (shipped_seq: number) => number
  readonly is_confined: boolean
  readonly log: ShippingLog
  /** For tests: where this process or its child is cut off. */
  readonly fault?: ShippingFault | null
  /** For tests: the age at which a batch is compared with the rows in ClickHouse before it is sent again. */
  readonly check_after_ms?: number
  /** For tests: events of one batch. */
  readonly rows_max?: number
}

/** Events of one batch. ClickHouse inserts as many as one block, and lists as many sequence numbers after a fault. */
const ROWS_MAX = 50_000
/** Batches of one round: persons that changed meanwhile wait no longer. */
const ROUND_BATCHES_MAX = 8
/** The pause between two rounds. A query that waits for events ends it. */
const ROUND_PAUSE_MS = 2000
/** Older batches are compared with the rows in ClickHouse: other folders' inserts may have displaced their tokens. */
const CHECK_AFTER_MS = 60_000
/** After a failed round; doubles up to the longest. */
const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 30_000
/** The time of creation of a batch that may have been sent before: it is compared before it is sent. */
const LONG_AGO_MS = 0
const EXPIRY_MS = HOUR_MS
/** The clocks of this machine and of ClickHouse must agree this far before anything expires. */
const CLOCKS_APART_MS_MAX = DAY_MS

type RoundStep = (round: ShippingRound) => Promise<void>

/** The work of each round, in order. Adding a step means adding a line. */
const STEPS: readonly RoundStep[] = [
  fitServers,
  claimProjects,
  markRemovals,
  sendPersons,
  sendEvents,
  finishRemovals,
  expireMonths,
]

/** The means of a round, and its target. */
type ShippingRound = {
  readonly context: ShippingContext
  readonly db: Database
  readonly child: ShippingChild
  readonly signal: AbortSignal
  /** The newest commit when the round began. */
  readonly target: LogPosition
  readonly position: () => ShippingPosition
  /** Tells waiting queries of a new position. */
  readonly onMoved: () => void
  readonly expiry: { at_ms: number }
}

/** For metrics and `tidemark clickhouse status`. */
type ShipperState = {
  readonly waiting_events: number
  readonly rounds: { readonly done: number; readonly failed: number }
  /** The reason of the last round's failure; null after a success. */
  readonly failure: string | null
}

export class Shipper {
  readonly #context: ShippingContext
  readonly #db: Database
  readonly #child: ShippingChild
  readonly #closing = new AbortController()
  readonly #waiters = new PositionWaiters()
  readonly #expiry = { at_ms: 0 }
  #rounds = { done: 0, failed: 0 }
  #failure: string | null = null
  #wake: (() => void) | null = null
  #last_work: Promise<void> = Promise.resolve()
  /** The start of the last round that sent all events committed before it. */
  #fresh_at_ms = Number.NEGATIVE_INFINITY

  /** Call `prepare` before anything else. */
  constructor(context: ShippingContext) {
    this.#context = context
    this.#db = openReader(join(context.data_dir, 'events.db'))
    this.#child = new ShippingChild(context.data_dir, context.is_confined)
  }

  /** Notes that the folder holds its events in ClickHouse, and deletes the files that a crash left over. */
  async prepare(): Promise<void> {
    await this.#context.capture.commitShipping({ kind: 'begin' })
    sweepShipments(this.#context.data_dir, listShipmentIds(this.#db))
  }

  /** The shipping process; null while none runs. */
  get pid(): number | null {
    return this.#child.pid
  }

  get state(): ShipperState {
    const { seq } = readLogState(this.#db)
    return {
      waiting_events: seq - this.#position().shipped_seq,
      rounds: this.#rounds,
      failure: this.#failure,
    }
  }

  /** Numbers of rounds since the start. */
  get work(): Readonly<Record<string, { readonly done: number; readonly failed: number }>> {
    return { shipping: this.#rounds }
  }

  /** Starts the rounds until `close`. */
  start(): void {
    this.#child.warmUp()
    void this.#loop()
  }

  /** Carries everything committed by now. Rejects on failure, which loses nothing. */
  async run(): Promise<void> {
    const { seq, change } = readLogState(this.#db)
    const isBehind = (): boolean => {
      const { shipped_seq, shipped_change } = this.#position()
      return shipped_seq < seq || shipped_change < change
    }
    do await this.#runAlone(() => this.#round())
    while (isBehind())
  }

  /** Deletes everything of a project in ClickHouse, after the inserts that are on their way. */
  forgetProject(project_id: number): Promise<void> {
    return this.#runAlone(async () => {
      await this.#round()
      if (await this.#context.claims.owns(project_id))
        await deleteProject(this.#context.nodes, project_id)
    })
  }

  /**
   * Resolves to true once ClickHouse has everything of a project that is committed now, or at once when the last complete
   * round began at most `stale_ms` ago. Resolves to false after `wait_ms`.
   */
  async waitForProject(
    project_id: number,
    { wait_ms, stale_ms }: { readonly wait_ms: number; readonly stale_ms: number },
  ): Promise<boolean> {
    if (performance.now() - this.#fresh_at_ms <= stale_ms) return true
    const needed = findNeeded(this.#db, project_id, this.#position())
    if (needed === null) return true
    const reached = this.#waiters.wait(needed, wait_ms)
    this.#wake?.()
    return reached
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#context.nodes.close()
    this.#wake?.()
    this.#waiters.close()
    await this.#child.close()
    await this.#last_work.catch(() => undefined)
    this.#db.close()
  }

  #position(): ShippingPosition {
    const position = findShippingPosition(this.#db)
    if (position === null) throw new Error('events.db does not hold its events in ClickHouse')
    return position
  }

  /** Runs one piece of work at a time, in the order of the calls. */
  #runAlone(work: () => Promise<void>): Promise<void> {
    const turn = this.#last_work
      .catch(() => undefined)
      .then(() => (this.#closing.signal.aborted ? undefined : work()))
    this.#last_work = turn
    return turn
  }

  async #loop(): Promise<void> {
    let retry_ms = RETRY_MS_MIN
    while (!this.#closing.signal.aborted) {
      let pause_ms = ROUND_PAUSE_MS
      try {
        if (this.#isDue()) await this.#runAlone(() => this.#round())
        this.#failure = null
        retry_ms = RETRY_MS_MIN
        if (this.#waiters.has_waiting) pause_ms = 0
      } catch (error) {
        if (this.#closing.signal.aborted) return
        const reason = errorMessage(error)
        // Each waiting query tries at once: one line a reason, not one a query.
        if (reason !== this.#failure)
          this.#context.log.error({ err: error }, 'events could not be sent to ClickHouse')
        this.#failure = reason
        pause_ms = retry_ms
        retry_ms = Math.min(2 * retry_ms, RETRY_MS_MAX)
      }
      await this.#pause(pause_ms)
    }
  }

  async #pause(pause_ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const timer = setTimeout(resolve, pause_ms)
    await promise
    clearTimeout(timer)
    this.#wake = null
  }

  #isDue(): boolean {
    const { seq, change } = readLogState(this.#db)
    const { shipped_seq, shipped_change } = this.#position()
    if (shipped_seq < seq || shipped_change < change) return true
    if (performance.now() >= this.#expiry.at_ms) return true
    return listPendingRemovals(this.#db).length > 0
  }

  async #round(): Promise<void> {
    const began_at_ms = performance.now()
    const { seq, change } = readLogState(this.#db)
    const round: ShippingRound = {
      context: this.#context,
      db: this.#db,
      child: this.#child,
      signal: this.#closing.signal,
      target: { seq, change },
      position: () => this.#position(),
      onMoved: () => {
        const { shipped_seq, shipped_change } = this.#position()
        this.#waiters.reach({ seq: shipped_seq, change: shipped_change })
      },
      expiry: this.#expiry,
    }
    try {
      for (const step of STEPS) await step(round)
    } catch (error) {
      this.#rounds = { ...this.#rounds, failed: this.#rounds.failed + 1 }
      throw error
    }
    this.#rounds = { ...this.#rounds, done: this.#rounds.done + 1 }
    if (this.#position().shipped_seq >= seq) this.#fresh_at_ms = began_at_ms
  }
}

/** The position that a query of a project waits for; null when ClickHouse has everything of the project. */
function findNeeded(
  db: Database,
  project_id: number,
  { shipped_seq, shipped_change }: ShippingPosition,
): LogPosition | null {
  const { seq, change } = readLogState(db)
  const has_events = seq > shipped_seq && mayHaveEvents(db, project_id, { shipped_seq, seq })
  const has_changes = change > shipped_change
  if (!has_events && !has_changes) return null
  return { seq: has_events ? seq : 0, change: has_changes ? change : 0 }
}

/** Whether the log may have events of a project that are not in ClickHouse. Reads a limited number of events. */
function mayHaveEvents(
  db: Database,
  project_id: number,
  { shipped_seq, seq }: { readonly shipped_seq: number; readonly seq: number },
): boolean {
  if (seq - shipped_seq > SCANNED_MAX) return true
  const found = db
    .query('select 1 from events where seq > ? and project_id = ? limit 1')
    .get(shipped_seq, project_id)
  return found !== null
}

/** The most events of other projects that a query passes over to find out that it need not wait. */
const SCANNED_MAX = 20_000

/** A server that was away when this one started may be too old, or have another schema. */
function fitServers({ context }: ShippingRound): Promise<void> {
  return context.nodes.fit()
}

/** Other homes may have claimed what this one would send, while it was away. */
function claimProjects({ context }: ShippingRound): Promise<void> {
  return context.claims.claim()
}

async function markRemovals({ context, db }: ShippingRound): Promise<void> {
  for (const removal of listPendingRemovals(db))
    await markRemoval(context.nodes, newestLogId(db), removal, 'begun')
}

async function sendPersons(round: ShippingRound): Promise<void> {
  const { context, db, child, signal, target, position, onMoved } = round
  const log_id = newestLogId(db)
  const { shipped_change, persons_log_id } = position()
  const is_restored = persons_log_id !== log_id
  if (!is_restored && target.change <= shipped_change) return
  // The rows of a folder that was restored are older than what it had sent.
  if (is_restored) await deletePersons(context.nodes, context.listProjects())
  const folder = join(temporaryFolder(context.data_dir), 'persons')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const range = { after: is_restored ? 0 : shipped_change, up_to: target.change }
  const { files } = await child.run('persons', { kind: 'persons', folder, ...range })
  for (const file of files) {
    await sendPersonLines(context.nodes, file, signal)
    rmSync(file.path, { force: true })
  }
  reachShippingFault('persons_sent', context.fault)
  await context.capture.commitShipping({ kind: 'persons', change: target.change, log_id })
  onMoved()
}

/** Writes the next batch while one is sent: both take a core. Neither still runs when this is rejected. */
async function sendEvents(round: ShippingRound): Promise<void> {
  let current = await nextShipment(round, round.position().shipped_seq)
  for (let count = 1; current !== null; count += 1) {
    const { last_seq } = current
    const following = count < ROUND_BATCHES_MAX ? nextShipment(round, last_seq) : null
    const [delivered, next] = await Promise.allSettled([deliver(round, current), following])
    if (delivered.status === 'rejected') throw delivered.reason
    if (next.status === 'rejected') throw next.reason
    current = next.value
  }
}

/** Returns the batch that follows an event: from the disk, or newly written; null when no event follows. */
async function nextShipment(round: ShippingRound, after_seq: number): Promise<Shipment | null> {
  const { context, db, target } = round
  const written = findShipment(db, after_seq)
  if (written !== null) {
    if (await isWhole(context, written)) return written
    context.log.warn({ shipment: written.id }, 'the file of a batch is damaged: it is rewritten')
    await context.capture.commitShipping({ kind: 'drop', id: written.id })
    return writeShipment(round, after_seq, LONG_AGO_MS)
  }
  return target.seq <= after_seq ? null : writeShipment(round, after_seq, Date.now())
}

async function isWhole({ data_dir }: ShippingContext, shipment: Shipment): Promise<boolean> {
  const file = Bun.file(shipmentPath(data_dir, shipment.id))
  if (!(await file.exists()) || file.size !== shipment.byte_count) return false
  return (await sha256Of(shipmentPath(data_dir, shipment.id))) === shipment.sha256
}

/** File → row of events.db: from then on it is sent until ClickHouse has it. */
async function writeShipment(
  { context, db, child, target }: ShippingRound,
  after_seq: number,
  created_ms: number,
): Promise<Shipment> {
  const name = getLogName(db, after_seq + 1)
  const id = Bun.randomUUIDv7()
  const path = shipmentPath(context.data_dir, id)
  mkdirSync(shipmentsFolder(context.data_dir), { recursive: true, mode: 0o700 })
  const up_to_seq = Math.min(
    name.last_seq ?? Number.MAX_SAFE_INTEGER,
    target.seq,
    after_seq + (context.rows_max ?? ROWS_MAX),
  )
  const { log_id } = name
  const { fault = null } = context
  try {
    const work = { kind: 'events', path, log_id, after_seq, up_to_seq, fault } as const
    const { kind: _, ...written } = await child.run('batch', work)
    // Events of an older name may have been sent by the folder that this one is a copy of.
    const created_at = 1000 * (name.last_seq === null ? created_ms : LONG_AGO_MS)
    const shipment = { id, log_id, after_seq, ...written, created_at }
    await context.capture.commitShipping({ kind: 'add', shipment })
    reachShippingFault('added', fault)
    return shipment
  } catch (error) {
    // The next try has another name: a round of each would fill the disk.
    rmSync(path, { force: true })
    throw error
  }
}

/** ClickHouse → row of events.db → log → file. Each step may be the last one before a crash. */
async function deliver(round: ShippingRound, shipment: Shipment): Promise<void> {
  const { context, signal, onMoved } = round
  const { id, log_id } = shipment
  const path = shipmentPath(context.data_dir, id)
  const batch = { log_id, token: id, path, signal }
  const age_ms = Date.now() - shipment.created_at / 1000
  const is_recent = age_ms >= 0 && age_ms < (context.check_after_ms ?? CHECK_AFTER_MS)
  if (shipment.row_count > 0)
    await (is_recent ? sendBatch(context.nodes, batch) : sendOld(round, shipment, batch))
  reachShippingFault('sent', context.fault)
  await context.capture.commitShipping({ kind: 'shipped', seq: shipment.last_seq, id })
  onMoved()
  reachShippingFault('shipped', context.fault)
  await context.capture.trim(context.trimmable(shipment.last_seq))
  reachShippingFault('trimmed', context.fault)
  rmSync(path, { force: true })
}

/** Sends the events of a batch that ClickHouse lacks, once its token may be forgotten there. */
async function sendOld(
  { context, child }: ShippingRound,
  shipment: Shipment,
  batch: BatchFile,
): Promise<void> {
  const { id, log_id, row_count } = shipment
  await endInserts(context.nodes, log_id)
  const stored = await listStoredSeqs(context.nodes, shipment)
  context.log.info({ shipment: id, row_count, stored: stored.length }, 'an old batch was compared')
  await sendMissing(context.nodes, child, batch, stored)
}

/** Log → shards → row of events.db. Until the last one, queries read no event of these persons. */
async function finishRemovals({ context, db, position }: ShippingRound): Promise<void> {
  for (const removal of listPendingRemovals(db)) {
    if (removal.up_to_seq > position().shipped_seq) continue
    const log_id = newestLogId(db)
    await markRemoval(context.nodes, log_id, removal, 'begun')
    await context.capture.removeEvents(removal.id)
    await deleteRemoved(context.nodes, log_id, removal)
    await markRemoval(context.nodes, log_id, removal, 'done')
    await context.capture.finishRemoval(removal.id)
    const { project_id, id } = removal
    context.log.info({ project_id, removal: id }, 'events of deleted persons are removed')
  }
}

async function expireMonths({ context, expiry }: ShippingRound): Promise<void> {
  if (performance.now() < expiry.at_ms) return
  const kept = context.listProjects().flatMap((project_id) => {
    const months = context.monthsKept(project_id)
    return months === null ? [] : [{ project_id, months }]
  })
  if (kept.length > 0) {
    const there_ms = Number(await context.nodes.first.run('SELECT toUnixTimestamp(now()) * 1000'))
    const now = Date.now()
    if (Math.abs(there_ms - now) > CLOCKS_APART_MS_MAX)
      throw new Error('the clocks of this machine and of ClickHouse differ by more than a day')
    for (const { project_id, months } of kept) {
      const first = monthsBefore(now * 1000, months)
      const rows = await deleteMonthsBefore(context.nodes, project_id, first)
      if (rows > 0) context.log.info({ project_id, rows }, 'expired months are deleted')
    }
  }
  expiry.at_ms = performance.now() + EXPIRY_MS
}
