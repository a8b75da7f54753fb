/** The server process: opens everything in order, listens, and closes it in reverse order on SIGTERM. */
import { createApp } from './app.ts'
import { MIB } from './bytes.ts'
import type { CertificateSource } from './certificates/certificate.ts'
import { openCertificates } from './certificates/open-certificates.ts'
import { type Config, ConfigError } from './config.ts'
import { findGeoipFiles, openGeoip } from './geoip.ts'
import { AlertChecks } from './http/analytics/alerts/alert-checks.ts'
import { Deliveries } from './http/analytics/alerts/deliveries.ts'
import { backgroundQueryEvents, OWN_LIMITS } from './http/analytics/queries/event-queries.ts'
import type { AppContext, LogShippingSource } from './http/app-context.ts'
import { limitBodies } from './http/bodies/body.ts'
import { SettableClock } from './http/settable-clock.ts'
import { IngestReports } from './ingest/notes/reports.ts'
import { openCapture } from './ingest/threads/capture.ts'
import type { DataWorker } from './ingest/threads/data-worker.ts'
import { CAPTURE_LIMITS } from './ingest/threads/messages.ts'
import { type Log, openLog } from './logs.ts'
import { createFirstThings, type FirstObjects, setOwnerPassword } from './projects/bootstrap.ts'
import { makeSessionToken } from './projects/keys/secrets.ts'
import { raiseProjectIds } from './projects/settings/home.ts'
import { markIngested } from './projects/settings/project.ts'
import { hashPassword, hasPasswords } from './projects/users/passwords.ts'
import { diskReader } from './serve/disk-space.ts'
import { openEdge } from './serve/edge.ts'
import { openEvents } from './serve/events.ts'
import { noteFaults, openFolder } from './serve/folder.ts'
import {
  ANSWER_TIME_MS,
  type ListeningServer,
  listen,
  requireFreePort,
  type Server,
} from './serve/listening.ts'
import { openManagement } from './serve/management.ts'
import { openKeyLimits, openQueryService } from './serve/query-service.ts'
import { isStandby, openStandby } from './serve/standby.ts'
import { openTraces } from './serve/trace-sender.ts'
import { watchEventLoops } from './serve/watchdog.ts'
import { sweepDataFolder } from './snapshots/sweep.ts'
import type { Control } from './storage/control/control-db.ts'
import { ServedControl } from './storage/control/served-control.ts'
import { DefinitionReader } from './storage/files/definition-reader.ts'
import { findFilePath } from './storage/files/parquet.ts'
import { endAtOnce } from './storage/process/end-at-once.ts'
import { LogShipping } from './storage/sqlite/log-shipping.ts'
import { openTargeting } from './targeting/open-targeting.ts'
import { createEventLoops, type EventLoops } from './threads/loop-memory.ts'
import { createTimings, type Timings } from './threads/timings.ts'

/** Time of a whole stop. After it the process exits as in a crash, which is safe. */
const STOP_TIME_MS = 9500

/** Options that are no settings. */
type ServeOptions = {
  /** The data thread, when it was started before. */
  readonly data_worker?: DataWorker | undefined
  /** True lets callers set the clock. */
  readonly is_clock_settable?: boolean
  /** True makes the first things on an empty folder, also without preset keys. */
  readonly makes_first_things?: boolean
  /** Stops the server when it resolves, as a signal does. */
  readonly ended?: Promise<void>
}

/**
 * Serves until a signal (SIGTERM, SIGINT) or a fatal fault; resolves with the exit code. `onListening` is called once.
 * Rejects if the server cannot start.
 */
export async function serve(
  config: Config,
  log: Log,
  onListening: (server: Server) => void,
  { data_worker, is_clock_settable = false, makes_first_things = false, ended }: ServeOptions = {},
): Promise<number> {
  exitOnFaults(log)
  // Handled from the beginning: a signal during the start stops the server right after it.
  const stop_requested = Promise.race([nextSignal(), ...(ended === undefined ? [] : [ended])])
  const followed = isStandby(config, log) ? await follow(config, log, stop_requested) : 'taken_over'
  if (followed === 'stopped') return 0
  const clock = is_clock_settable ? new SettableClock() : undefined
  const server = await startServer(config, log, { clock, data_worker, makes_first_things })
  onListening(server)
  let exit_code = 0
  // Also while it stops: its last sync may fail.
  const waitForFault = async (): Promise<void> => {
    await server.broken
    exit_code = 1
  }
  await Promise.race([stop_requested, waitForFault()])
  log.info('stopping')
  setTimeout(() => {
    log.error('stopping takes too long')
    // An ordinary exit waits for threads inside a statement, which may be the reason for the delay.
    endAtOnce()
  }, STOP_TIME_MS).unref()
  await server.stop()
  log.info('stopped')
  // An ordinary exit closes the databases, which would copy a write-ahead log of which the disk may have lost pages.
  if (exit_code !== 0) endAtOnce()
  return exit_code
}

/** Starts a server for the time of a command. A fault of the disk ends the process at once, for the reason that `serve` has. */
export async function startForCommand(config: Config): Promise<Server> {
  const server = await startServer(config, openLog('error', []))
  void server.broken.then(endAtOnce)
  return server
}

/** Follows a primary until a signal, or until this standby has taken over: then the same process goes on as a server. */
async function follow(
  config: Config,
  log: Log,
  stop_requested: Promise<void>,
): Promise<'stopped' | 'taken_over'> {
  await using parts = new AsyncDisposableStack()
  const standby = await openStandby(config, log, parts)
  const outcome = await Promise.race([
    stop_requested.then(() => 'stopped' as const),
    standby.replaced.then(() => 'taken_over' as const),
  ])
  await standby.stop()
  return outcome
}

/** Starts everything, with the machine's clock or another. If a part cannot start, the parts before it are closed again. */
export async function startServer(
  config: Config,
  log: Log,
  { clock, data_worker, makes_first_things = false }: Partial<StartingParts> = {},
): Promise<Server> {
  const parts = new AsyncDisposableStack()
  const now = clock?.now ?? ((): Date => new Date())
  try {
    return await (config.forward_to === null
      ? openParts({ config, log, clock, data_worker, makes_first_things, now }, parts)
      : openEdge(config, log, parts))
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

async function openParts(base: BaseParts, parts: AsyncDisposableStack): Promise<Server> {
  const { config, log } = base
  requireWholeOwner(config)
  const stopping = { is_stopping: false }
  const lock = openFolder(config.data_dir, log, parts)
  const { broken, onBroken } = noteFaults(lock)
  const event_loops = createEventLoops()
  const timings = createTimings(openTraces(config, log, parts))
  const operator_key = makeSessionToken()
  const shared = { ...base, event_loops, timings }
  const rooms = await openRooms({ ...shared, onBroken }, parts)
  const management = openManagement({ ...rooms, ...base }, parts)

  const certificates = await openCertificates(config, { ...base, may_order: true }, parts)
  const context = { ...shared, operator_key, rooms, management, certificates }
  const needs = createContext(context, () => ({
    is_stopping: stopping.is_stopping,
    url: http.url,
  }))
  // A start that fails would make a key and never print it.
  requireFreePort(config)
  // Before the first request, which may come with a preset key or password.
  const first = await bootstrap(rooms.control, base)
  const http: ListeningServer = listen(config, createApp(needs), { certificates, log })
  const alerts = new AlertChecks(needs)
  parts.defer(() => alerts.close())
  const deliveries = new Deliveries(needs)
  // A stop waits for them only as long as for answers: a receiver may be slow.
  parts.defer(() => void deliveries.close())
  // The log's level, not the setting's: commands that serve for a moment log errors only.
  watchEventLoops(event_loops, { stall_log_ms: config.stall_log_ms, log_level: log.level }, parts)
  rooms.snapshots.start()
  rooms.targeting.start()
  alerts.start()
  deliveries.start()
  lock.announce({ url: http.url, local_url: http.local_url, operator_key })
  log.info({ url: http.url, pid: process.pid, data_dir: config.data_dir }, 'listening')

  return {
    url: http.url,
    control: rooms.control,
    first,
    broken,
    async stop() {
      stopping.is_stopping = true
      const answered = http.stop()
      // Running queries are refused now: otherwise the last requests would wait for them.
      await rooms.snapshots.close()
      await rooms.targeting.cohorts.close()
      const checked = Promise.all([alerts.close(), deliveries.close()])
      rooms.query_service.close()
      await rooms.engine.close()
      await Promise.race([checked, Bun.sleep(ANSWER_TIME_MS)])
      await answered
      await parts.disposeAsync()
    },
  }
}

/** The things that all parts of the server share. */
type BaseParts = {
  readonly config: Config
  readonly log: Log
  readonly clock: SettableClock | undefined
  readonly data_worker: DataWorker | undefined
  readonly makes_first_things: boolean
  readonly now: () => Date
}

type StartingParts = Pick<BaseParts, 'clock' | 'data_worker' | 'makes_first_things'>

type ContextParts = BaseParts & {
  readonly event_loops: EventLoops
  readonly timings: Timings
  readonly operator_key: string
  readonly rooms: Awaited<ReturnType<typeof openRooms>>
  readonly management: ReturnType<typeof openManagement>
  readonly certificates: CertificateSource | null
}

/** Builds the context of the routes. `stateOf` is called once the server listens. */
function createContext(
  { rooms, management, certificates, ...shared }: ContextParts,
  stateOf: () => { readonly is_stopping: boolean; readonly url: string },
): AppContext {
  const { config, log, clock, now, event_loops, timings, operator_key } = shared
  return {
    control: rooms.control.db,
    settleControl: () => rooms.control.settle(),
    checkControl: () => rooms.control.check(),
    capture: rooms.capture,
    forwarding: rooms.capture,
    identity: rooms.capture,
    property_types: rooms.capture,
    flag_rows: rooms.capture,
    ...rooms.readers,
    flags: rooms.targeting.flags,
    persons: rooms.targeting.persons,
    control_changes: rooms.targeting.control_changes,
    cohorts: rooms.targeting.cohorts,
    log_shipping: shippingSource(config, rooms.shipping),
    geoip: openGeoip(findGeoipFiles(config.geoip_database)),
    query_service: rooms.query_service,
    key_limits: openKeyLimits(config, now),
    query_limits: { rows_max: config.query_rows_max },
    ...management,
    log,
    bodies: limitBodies({
      body_bytes_max: config.body_bytes_max,
      receiving_bytes_max: CAPTURE_LIMITS.in_flight_bytes_max,
      trusted_proxies: config.trusted_proxies,
    }),
    event_loops,
    certificate: certificates,
    disk: diskReader(config.data_dir, config.disk_free_min_mb * MIB),
    timings,
    metrics_networks: config.metrics_networks,
    trusted_proxies: config.trusted_proxies,
    operator_key,
    isStopping: () => stateOf().is_stopping,
    publicUrl: () => stateOf().url,
    now,
    ...(clock === undefined ? {} : { clock }),
  }
}

type ServerOptions = BaseParts & {
  readonly event_loops: EventLoops
  readonly timings: Timings
  readonly onBroken: () => void
}

/** Opens control.db. `onBroken` is called when the disk has failed: the server cannot continue. */
function openServedControl({ data_dir }: Config, log: Log, onBroken: () => void): ServedControl {
  return new ServedControl({
    data_dir,
    fail(reason) {
      log.fatal({ reason }, 'control.db cannot be used')
      onBroken()
    },
    report: (reason) => log.error({ reason }, 'a checkpoint of control.db failed'),
  })
}

/** Opens everything behind the routes, each part after its dependencies. */
async function openRooms(
  { config, log, data_worker, now, event_loops, timings, onBroken }: ServerOptions,
  parts: AsyncDisposableStack,
) {
  const control = openServedControl(config, log, onBroken)
  parts.defer(() => control.close())
  raiseProjectIds(control.db, config.project_id_min)

  const shipping = config.replica_key === null ? null : new LogShipping(config.data_dir)
  const capture = await openCapture({
    ...captureSettings(config),
    ...(data_worker && { data_worker }),
    ...(shipping && { releaseLog: () => shipping.release() }),
    event_loops,
    timings: timings.commits,
    log,
    onFirstEvent: (project_id) => noteFirstEvent(control, project_id, log),
    onStorageFault: () => control.check(),
    onBroken,
  })
  parts.defer(() => capture.close())
  if (shipping !== null) parts.defer(() => shipping.close())

  // Here events.db has its tables, and no other process uses the folder yet.
  for (const { file, damage } of sweepDataFolder(config.data_dir).damaged) {
    log.error({ file: file.id, project_id: file.project_id, damage }, 'a snapshot file is damaged')
  }

  const holder = await openEvents(config, { control, capture, timings, log })
  const { engine, snapshots, are_in_clickhouse } = holder
  parts.defer(() => engine.close())
  const definitions = new DefinitionReader(config.data_dir, are_in_clickhouse)
  parts.defer(() => definitions.close())
  const ingest = new IngestReports(config.data_dir)
  parts.defer(() => ingest.close())

  const query_service = openQueryService(config, { engine, timings, log, now })
  parts.defer(() => query_service.close())

  const targeting = openTargeting(config.data_dir, {
    control: control.db,
    rows: capture,
    queryEvents: backgroundQueryEvents({
      control: control.db,
      definitions,
      query_service,
      query_limits: OWN_LIMITS,
    }),
    log,
    now,
    tidy: config,
  })
  parts.defer(() => targeting.close())

  parts.defer(() => snapshots.close())
  const readers = { definitions, engine, ingest, snapshots }
  return { control, capture, readers, targeting, engine, query_service, snapshots, shipping }
}

const captureSettings = (config: Config) => ({
  data_dir: config.data_dir,
  limits: { body_bytes_max: config.body_bytes_max },
  geoip_files: findGeoipFiles(config.geoip_database),
  dedup_days: config.dedup_days,
})

/** The source of standbys; null in a server without their key. */
function shippingSource(
  { replica_key: key, data_dir }: Config,
  shipping: LogShipping | null,
): LogShippingSource | null {
  if (shipping === null || key === null) return null
  return {
    key,
    read: (...asked) => shipping.read(...asked),
    readPages: (...asked) => shipping.readPages(...asked),
    list: () => shipping.list(),
    filePath: (project_id, id) => findFilePath(data_dir, { project_id, id }),
  }
}

/** Records the first event of a project. A failure is logged only: the events are stored anyway. */
function noteFirstEvent(control: Control, project_id: number, log: Log): void {
  try {
    markIngested(control.db, project_id)
  } catch (err) {
    log.error({ err, project_id }, 'cannot note the first event')
  }
}

/**
 * Creates the first organization, project, owner and key on an empty folder, if a caller wants them or keys are preset,
 * and sets a preset password. With ClickHouse, the number of the project must be claimed there before.
 */
async function bootstrap(
  { db }: Control,
  { config, makes_first_things }: BaseParts,
): Promise<FirstObjects | null> {
  const { bootstrap_owner_email: email, bootstrap_owner_password: password } = config
  const presets = {
    api_token: config.bootstrap_api_token,
    personal_api_key: config.bootstrap_personal_api_key,
  }
  const has_presets = presets.api_token !== null || presets.personal_api_key !== null
  const first =
    makes_first_things || has_presets ? createFirstThings(db, presets, new Date()) : null
  if (email !== null && password !== null && !hasPasswords(db)) {
    setOwnerPassword(db, { email, hash: await hashPassword(password, email) }, new Date())
  }
  return first
}

function requireWholeOwner(config: Config): void {
  const { bootstrap_owner_email: email, bootstrap_owner_password: password } = config
  if ((email === null) === (password === null)) return
  const names = 'TIDEMARK_BOOTSTRAP_OWNER_EMAIL and TIDEMARK_BOOTSTRAP_OWNER_PASSWORD'
  throw new ConfigError(`${names} must be set together`)
}

/** Ends the process at an unexpected error: its state is unknown, and every start can recover from a crash. */
function exitOnFaults(log: Log): void {
  const onFault = (err: unknown): never => {
    log.fatal({ err }, 'unexpected fault')
    process.exit(1)
  }
  process.on('uncaughtException', onFault)
  process.on('unhandledRejection', onFault)
}

function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    // `on`, not `once`: a second signal must not kill the process while it stops.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve())
  })
}
