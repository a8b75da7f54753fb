/** The server process: opens everything in order, listens, and closes it in reverse order on SIGTERM. */
import { join } from 'node:path'
import { createApp } from './app.ts'
import { type Config, ConfigError } from './config.ts'
import { findGeoipFiles, openGeoip } from './geoip.ts'
import { AlertChecks } from './http/analytics/alert-checks.ts'
import { Deliveries } from './http/analytics/deliveries.ts'
import { eventQueryContext, OWN_LIMITS } from './http/analytics/event-queries.ts'
import type { AppContext } from './http/app-context.ts'
import { limitBodies } from './http/body.ts'
import { IDLE_TIMEOUT_S } from './http/endpoint.ts'
import { IngestReports } from './ingest/notes/reports.ts'
import { openCapture } from './ingest/threads/capture.ts'
import { CAPTURE_LIMITS } from './ingest/threads/messages.ts'
import type { Log } from './logs.ts'
import { createFirstThings, setOwnerPassword } from './projects/bootstrap.ts'
import { hashPassword, hasPasswords } from './projects/passwords.ts'
import { markIngested } from './projects/project.ts'
import { QueryEngine } from './query/engine/engine.ts'
import { openManagement } from './serve/management.ts'
import { openKeyLimits, openQuestions } from './serve/questions.ts'
import { openSnapshots } from './serve/snapshots.ts'
import { watchEventLoops } from './serve/watchdog.ts'
import { sweepDataFolder } from './snapshots/sweep.ts'
import { type Control, openControl } from './storage/control/control-db.ts'
import { DefinitionReader } from './storage/files/definition-reader.ts'
import { type FolderLock, takeLock } from './storage/process/lock.ts'
import { tightenFolder } from './storage/process/private-folder.ts'
import { requireTrustedSqlite, requireUndamaged } from './storage/sqlite/sqlite.ts'
import { openTargeting } from './targeting/open-targeting.ts'
import { createEventLoops, type EventLoops } from './threads/loop-memory.ts'

/** Time for started requests during a stop; then their connections are closed. */
const ANSWER_TIME_MS = 5000
/** Time of a whole stop. After it the process exits as in a crash, which is safe. */
const STOP_TIME_MS = 9500

/** Databases that are checked after a crash. Caches are not among them: they can be deleted. */
const DATABASES = ['control.db', 'events.db'] as const

/** Another program uses the port. */
class PortInUse extends Error {
  override readonly name = 'PortInUse'
}

/** A running server. */
export type Server = {
  readonly url: string
  readonly control: Control
  /** Resolves when the server cannot continue. */
  readonly broken: Promise<void>
  /** Answers received requests, commits, closes and resolves. */
  stop(): Promise<void>
}

/**
 * Serves until a signal (SIGTERM, SIGINT) or a fatal fault; resolves with the exit code. `onListening` is called once.
 * Rejects if the server cannot start.
 */
export async function serve(
  config: Config,
  log: Log,
  onListening: (server: Server) => void,
): Promise<number> {
  exitOnFaults(log)
  // Handled from the beginning: a signal during the start stops the server right after it.
  const told = nextSignal()
  const server = await startServer(config, log)
  onListening(server)
  const exit_code = await Promise.race([told.then(() => 0), server.broken.then(() => 1)])
  log.info('stopping')
  setTimeout(() => {
    log.error('stopping takes too long')
    // An ordinary exit waits for threads inside a statement, which may be the reason for the delay.
    process.kill(process.pid, 'SIGKILL')
  }, STOP_TIME_MS).unref()
  await server.stop()
  log.info('stopped')
  return exit_code
}

/** Starts everything. If a part cannot start, the parts before it are closed again. */
export async function startServer(config: Config, log: Log): Promise<Server> {
  const parts = new AsyncDisposableStack()
  try {
    return await openParts(config, log, parts)
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

async function openParts(config: Config, log: Log, parts: AsyncDisposableStack): Promise<Server> {
  const broken = Promise.withResolvers<void>()
  const stopping = { is_stopping: false }
  const lock = openFolder(config.data_dir, log, parts)
  const event_loops = createEventLoops()
  const rooms = await openRooms({ config, log, event_loops, onBroken: broken.resolve }, parts)
  const management = openManagement({ ...rooms, config, log }, parts)

  const needs = createContext({ config, log, event_loops, rooms, management }, () => ({
    is_stopping: stopping.is_stopping,
    url: http.url,
  }))
  const http: ListeningServer = listen(config, needs)
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
  lock.announce(http.url)
  log.info({ url: http.url, pid: process.pid, data_dir: config.data_dir }, 'listening')

  return {
    url: http.url,
    control: rooms.control,
    broken: broken.promise,
    async stop() {
      stopping.is_stopping = true
      const answered = http.stop()
      // Running queries are refused now: otherwise the last requests would wait for them.
      await rooms.snapshots.close()
      await rooms.targeting.cohorts.close()
      const checked = Promise.all([alerts.close(), deliveries.close()])
      rooms.questions.close()
      await rooms.engine.close()
      await Promise.race([checked, Bun.sleep(ANSWER_TIME_MS)])
      await answered
      await parts.disposeAsync()
    },
  }
}

type ContextParts = Pick<ServerOptions, 'config' | 'event_loops' | 'log'> & {
  readonly rooms: Awaited<ReturnType<typeof openRooms>>
  readonly management: ReturnType<typeof openManagement>
}

/** Joins what routes need. `stateOf` is called once the server listens. */
function createContext(
  { config, log, event_loops, rooms, management }: ContextParts,
  stateOf: () => { readonly is_stopping: boolean; readonly url: string },
): AppContext {
  return {
    control: rooms.control.db,
    capture: rooms.capture,
    identity: rooms.capture,
    property_types: rooms.capture,
    flag_rows: rooms.capture,
    ...rooms.readers,
    flags: rooms.targeting.flags,
    persons: rooms.targeting.persons,
    cohorts: rooms.targeting.cohorts,
    geoip: openGeoip(findGeoipFiles(config.geoip_database)),
    query_service: rooms.questions,
    key_limits: openKeyLimits(config),
    query_limits: { rows_max: config.query_rows_max },
    ...management,
    log,
    bodies: limitBodies({
      body_bytes_max: config.body_bytes_max,
      receiving_bytes_max: CAPTURE_LIMITS.in_flight_bytes_max,
      trusted_proxies: config.trusted_proxies,
    }),
    event_loops,
    metrics_networks: config.metrics_networks,
    trusted_proxies: config.trusted_proxies,
    isStopping: () => stateOf().is_stopping,
    publicUrl: () => stateOf().url,
    now: () => new Date(),
  }
}

/** Locks the data folder, makes it private, and checks it after a crash. */
function openFolder(data_dir: string, log: Log, parts: AsyncDisposableStack): FolderLock {
  const lock = takeLock(data_dir, process.pid, new Date())
  parts.defer(() => lock.release())
  requireTrustedSqlite()
  tighten(data_dir, log)
  if (lock.was_abandoned) {
    log.warn('the last server on this folder did not stop by itself: checking its databases')
    for (const name of DATABASES) requireUndamaged(join(data_dir, name))
  }
  return lock
}

/** Removes other users' rights: folders of earlier versions and copies by other programs may be readable by all. */
function tighten(data_dir: string, log: Log): void {
  const { changed, kept } = tightenFolder(data_dir)
  if (changed > 0) log.warn({ data_dir, changed }, 'took the rights of other users from data files')
  if (kept.length === 0) return
  const fields = { data_dir, files: kept.length, first: kept[0] }
  log.warn(fields, 'other users have rights on data files that belong to another user')
}

type ServerOptions = {
  readonly config: Config
  readonly log: Log
  readonly event_loops: EventLoops
  readonly onBroken: () => void
}

/** Opens everything behind the routes, each part after its dependencies. */
async function openRooms(
  { config, log, event_loops, onBroken }: ServerOptions,
  parts: AsyncDisposableStack,
) {
  const control = openControl(config.data_dir)
  parts.defer(() => control.close())
  await bootstrapUnattended(control, config)

  const capture = await openCapture({
    data_dir: config.data_dir,
    limits: { body_bytes_max: config.body_bytes_max },
    geoip_files: findGeoipFiles(config.geoip_database),
    dedup_days: config.dedup_days,
    event_loops,
    log,
    onFirstEvent: (project_id) => noteFirstEvent(control, project_id, log),
    onBroken,
  })
  parts.defer(() => capture.close())

  // events.db has its tables now, and no other process uses the folder yet.
  for (const { file, damage } of sweepDataFolder(config.data_dir).damaged) {
    log.error({ file: file.id, project_id: file.project_id, damage }, 'a snapshot file is damaged')
  }

  const definitions = new DefinitionReader(config.data_dir)
  parts.defer(() => definitions.close())
  const ingest = new IngestReports(config.data_dir)
  parts.defer(() => ingest.close())

  const engine = openEngine(config, log)
  parts.defer(() => engine.close())

  const questions = openQuestions(config, engine, log)
  parts.defer(() => questions.close())

  const targeting = openTargeting(config.data_dir, {
    control: control.db,
    rows: capture,
    ask: eventQueryContext({
      control: control.db,
      definitions,
      query_service: questions,
      query_limits: OWN_LIMITS,
    }),
    log,
    now: () => new Date(),
    tidy: config,
  })
  parts.defer(() => targeting.close())

  const snapshots = openSnapshots(config, { control, capture, engine, log })
  parts.defer(() => snapshots.close())
  const readers = { definitions, engine, ingest, snapshots }
  return { control, capture, readers, targeting, engine, questions, snapshots }
}

/** Records the first event of a project. A failure is logged only: the events are stored anyway. */
function noteFirstEvent(control: Control, project_id: number, log: Log): void {
  try {
    markIngested(control.db, project_id)
  } catch (err) {
    log.error({ err, project_id }, 'cannot note the first event')
  }
}

function openEngine(config: Config, log: Log): QueryEngine {
  return new QueryEngine({
    data_dir: config.data_dir,
    settings: {
      memory_mb: config.query_memory_mb,
      spill_mb: config.query_spill_mb,
      threads: config.query_threads,
      result_bytes_max: config.query_result_bytes_max,
      running_max: config.queries_running_max,
      waiting_max: config.queries_waiting_max,
    },
    is_confined: config.query_confinement === 'on',
    log,
  })
}

/**
 * Creates the first organization, project and owner from preset keys and password, without printing them: an unattended
 * install.
 */
async function bootstrapUnattended({ db }: Control, config: Config): Promise<void> {
  const { bootstrap_owner_email: email, bootstrap_owner_password: password } = config
  if ((email === null) !== (password === null)) {
    const names = 'TIDEMARK_BOOTSTRAP_OWNER_EMAIL and TIDEMARK_BOOTSTRAP_OWNER_PASSWORD'
    throw new ConfigError(`${names} are only of use together`)
  }
  const presets = {
    api_token: config.bootstrap_api_token,
    personal_api_key: config.bootstrap_personal_api_key,
  }
  if (presets.api_token !== null || presets.personal_api_key !== null) {
    createFirstThings(db, presets, new Date())
  }
  if (email === null || password === null || hasPasswords(db)) return
  setOwnerPassword(db, { email, hash: await hashPassword(password, email) }, new Date())
}

type ListeningServer = { readonly url: string; stop(): Promise<void> }

function listen(config: Config, needs: AppContext): ListeningServer {
  const app = createApp(needs)
  try {
    app.listen({
      hostname: config.host,
      port: config.port,
      // Two servers on one port would each get half of the requests.
      reusePort: false,
      development: false,
      idleTimeout: IDLE_TIMEOUT_S,
      // Routes refuse large bodies early and with JSON; Bun would close the connection without an answer.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new PortInUse(`${config.host}:${config.port} is in use by another program`)
  }
  const { server } = app
  if (server === null) throw new Error('the server does not listen')
  return {
    url: config.public_url ?? localUrl(config.host, server.port ?? config.port),
    async stop() {
      const answered = server.stop()
      await Promise.race([answered, Bun.sleep(ANSWER_TIME_MS)])
      await server.stop(true)
    },
  }
}

/** A URL that works from this machine, also if the server listens on all addresses. */
function localUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
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
