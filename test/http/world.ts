/** A whole server without its socket: real databases in a folder of their own, requests through `app.handle`. */
import { Database, type SQLQueryBindings } from 'bun:sqlite'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { DemoRuns } from '../../src/demo/demo-runs.ts'
import { openGeoip } from '../../src/geoip.ts'
import { backgroundQueryEvents } from '../../src/http/analytics/queries/event-queries.ts'
import type { AppContext } from '../../src/http/app-context.ts'
import { limitBodies } from '../../src/http/bodies/body.ts'
import { Downloads } from '../../src/http/browser/downloads.ts'
import { LoginTries } from '../../src/http/browser/login-tries.ts'
import { FailedKeys } from '../../src/http/callers/failed-keys.ts'
import { IngestReports } from '../../src/ingest/notes/reports.ts'
import { type Capture, openCapture } from '../../src/ingest/threads/capture.ts'
import { openLog } from '../../src/logs.ts'
import { findChromium } from '../../src/pictures/find-chromium.ts'
import { Pictures } from '../../src/pictures/pictures.ts'
import { Addresses } from '../../src/plugins/addresses.ts'
import { Destinations } from '../../src/plugins/destinations.ts'
import { openTallies } from '../../src/plugins/tallies.ts'
import { createFirstThings, type FirstObjects } from '../../src/projects/bootstrap.ts'
import { QueryEngine } from '../../src/query/engine/engine.ts'
import { KeyLimits } from '../../src/query/service/key-limits.ts'
import { QueryService } from '../../src/query/service/service.ts'
import { diskReader } from '../../src/serve/disk-space.ts'
import { openControl } from '../../src/storage/control/control-db.ts'
import { DefinitionReader } from '../../src/storage/files/definition-reader.ts'
import { openTargeting } from '../../src/targeting/open-targeting.ts'
import type { Tidying } from '../../src/targeting/tidying.ts'
import { createEventLoops } from '../../src/threads/loop-memory.ts'
import { createTimings } from '../../src/threads/timings.ts'
import { copyFreshDatabase } from '../fresh-databases.ts'

const MIB = 1024 * 1024

const QUERY_SETTINGS = {
  memory_mb: 512,
  spill_mb: 2048,
  threads: 1,
  result_bytes_max: 8 * MIB,
  running_max: 4,
  waiting_max: 16,
}

export const SERVICE_SETTINGS = {
  timeout_ms: 60_000,
  background_timeout_ms: 600_000,
  background_running_max: 2,
  background_waiting_max: 100,
  slow_ms: 0,
  has_plan: false,
  cache_bytes_max: 64 * MIB,
  export_rows_max: 0,
  export_bytes_max: 256 * MIB,
  export_timeout_ms: 600_000,
}

/** Small enough that a test can go beyond it. */
const TIDY_SETTINGS = {
  deleted_days: 30,
  activity_days: 730,
  activity_rows_max: 1000,
  activity_bytes_max: 1_000_000,
}

/** A project of a server, with its owner's key. */
export type WorldProject = {
  readonly first: FirstObjects
  readonly needs: AppContext
  readonly capture: Capture
  send(path: string, init?: RequestInit): Promise<Response>
}

export type World = AsyncDisposable &
  WorldProject & {
    readonly tidying: Tidying
    readonly data_dir: string
    readonly engine: QueryEngine
    readonly service: QueryService
    /** What was logged, one JSON text a line. */
    readonly log_lines: readonly string[]
    /** One number from events.db, straight from the file. */
    countEvents(sql: string): number
    /**
     * Puts control.db back to what it was when the world was opened, for tests that share a world. Events and persons
     * stay: a test that counts them needs a world to itself.
     */
    resetControl(): void
    close(): Promise<void>
  }

/**
 * Opens a world with one organization, one project and its owner's key. `changes` replace what routes need, `asked`
 * what answers their queries.
 */
export async function openWorld(
  changes: Partial<AppContext> = {},
  asked?: Pick<QueryEngine, 'run'>,
): Promise<World> {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-http-'))
  // The worker is confined to the folders that are there when it starts, as after the start of a server.
  mkdirSync(join(data_dir, 'files'))
  const log_lines: string[] = []
  const log = openLog('debug', [], { write: (line) => log_lines.push(line) })
  copyFreshDatabase('control', data_dir)
  copyFreshDatabase('events', data_dir)
  const control = openControl(data_dir)
  // The server waits for the disk beside its requests (`ServedControl`); here no commit has to outlive a power cut.
  control.db.run('pragma synchronous = off')
  const presets = { api_token: null, personal_api_key: null }
  const first = createFirstThings(control.db, presets, new Date())
  if (first === null) throw new Error('the folder was not empty')
  const pristine = readControl(data_dir)
  const event_loops = changes.event_loops ?? createEventLoops()
  const timings = createTimings()
  const capture = await openCapture({ data_dir, log, event_loops, timings: timings.commits })
  const definitions = new DefinitionReader(data_dir)
  const ingest = new IngestReports(data_dir)
  // Started by the first query or look at it: most tests ask nothing, and a start takes 0.1 s of processor time.
  let engine: QueryEngine | null = null
  const startedEngine = (): QueryEngine =>
    (engine ??= new QueryEngine({ data_dir, settings: QUERY_SETTINGS, log }))
  const lazy_engine: Pick<QueryEngine, 'run' | 'state' | 'wake'> = {
    run: (query, options) => startedEngine().run(query, options),
    wake: () => engine?.wake(),
    get state() {
      return startedEngine().state
    },
  }
  const now = changes.now ?? (() => new Date())
  const queries = new QueryService({
    data_dir,
    engine: asked ?? lazy_engine,
    settings: SERVICE_SETTINGS,
    timings,
    log,
    now,
  })
  const query_limits = { rows_max: 50_000 }
  const targeting = openTargeting(data_dir, {
    control: control.db,
    rows: capture,
    queryEvents: backgroundQueryEvents({
      control: control.db,
      definitions,
      query_service: queries,
      query_limits,
    }),
    log,
    now,
    tidy: TIDY_SETTINGS,
  })
  const addresses = changes.addresses ?? new Addresses()
  const plugins = { data_dir, control: control.db, log, now }
  const tallies = openTallies(plugins)
  const destinations = new Destinations({
    ...plugins,
    addresses,
    retry_ms: 5,
    matchAction: targeting.matchAction,
  })
  destinations.start()
  const demo = new DemoRuns({ ...plugins, capture, flags: targeting.flags })
  demo.start()
  const needs: AppContext = {
    control: control.db,
    settleControl: () => null,
    checkControl: () => undefined,
    capture,
    forwarding: capture,
    identity: capture,
    property_types: capture,
    flag_rows: capture,
    definitions,
    ingest,
    engine: lazy_engine,
    snapshots: { work: { snapshot: { done: 3, failed: 1 } } },
    flags: targeting.flags,
    persons: targeting.persons,
    control_changes: targeting.control_changes,
    cohorts: targeting.cohorts,
    geoip: openGeoip([]),
    query_service: queries,
    key_limits: new KeyLimits({ running_max: 0, per_minute: 0, per_hour: 0 }, now),
    call_limits: new KeyLimits({ running_max: 0, per_minute: 0, per_hour: 0 }, now),
    failed_keys: new FailedKeys({ per_minute: 0, trusted_proxies: [] }, now),
    login_tries: new LoginTries(now),
    downloads: new Downloads(),
    query_limits,
    saved_max: 20_000,
    flags_max: 5000,
    saved_bytes_max: 32 * MIB,
    organizations_max: 50,
    projects_max: 1000,
    addresses,
    destinations,
    demo,
    pictures: new Pictures(findChromium('auto'), log),
    removeProjectData: (project_id) => void capture.forgetProject(project_id),
    log,
    bodies: limitBodies({ body_bytes_max: 20 * MIB, receiving_bytes_max: 256 * MIB }),
    event_loops,
    timings,
    backups: null,
    log_shipping: null,
    certificate: null,
    disk: diskReader(data_dir, 0),
    metrics_networks: ['127.0.0.1'],
    trusted_proxies: [],
    operator_key: 'operator-key-of-the-test',
    isStopping: () => false,
    publicUrl: () => 'https://tidemark.example',
    now,
    ...changes,
  }
  const app = createApp(needs)
  const close = async (): Promise<void> => {
    await targeting.close()
    await destinations.close()
    await demo.close()
    tallies.close()
    queries.close()
    await engine?.close()
    definitions.close()
    ingest.close()
    await capture.close()
    control.close()
    rmSync(data_dir, { recursive: true, force: true })
  }
  return {
    data_dir,
    tidying: targeting.tidying,
    first,
    needs,
    get engine() {
      return startedEngine()
    },
    capture,
    service: queries,
    log_lines,
    send: (path, init = {}) => app.handle(requestOf(path, init)),
    countEvents(sql: string) {
      const db = new Database(join(data_dir, 'events.db'), { readonly: true })
      const row = db.query<{ count: number }, []>(sql).get()
      db.close()
      return row?.count ?? 0
    },
    resetControl: () => restoreControl(data_dir, pristine),
    close,
    [Symbol.asyncDispose]: close,
  }
}

type ControlRows = ReadonlyMap<string, readonly (readonly SQLQueryBindings[])[]>

/** All rows of control.db by table. */
function readControl(data_dir: string): ControlRows {
  const db = new Database(join(data_dir, 'control.db'), { readonly: true })
  const names = db
    .query<{ name: string }, []>("select name from sqlite_schema where type = 'table'")
    .all()
    .map(({ name }) => name)
  const rows = names.map((name) => {
    const select = db.query<Record<string, SQLQueryBindings>, []>(`select * from "${name}"`)
    return [name, select.all().map((row) => Object.values(row))] as const
  })
  db.close()
  return new Map(rows)
}

/** Replaces all rows of control.db, in one commit that everyone who caches rows notices. */
function restoreControl(data_dir: string, pristine: ControlRows): void {
  const db = new Database(join(data_dir, 'control.db'))
  db.run('pragma foreign_keys = off')
  db.run('pragma synchronous = off')
  db.transaction(() => {
    for (const [table, rows] of pristine) {
      // Versions never come again: what was compiled of the same version would be taken for current.
      if (table === 'definition_versions') continue
      db.run(`delete from "${table}"`)
      for (const row of rows) {
        db.run(`insert into "${table}" values (${row.map(() => '?').join(', ')})`, [...row])
      }
    }
    db.run('update definition_versions set version = version + 1')
  })()
  db.close()
}

/** As clients of the management API send it: bodies are JSON unless a test says otherwise. */
function requestOf(path: string, init: RequestInit): Request {
  const headers = new Headers(init.headers)
  if (path.startsWith('/api/') && typeof init.body === 'string' && !headers.has('content-type')) {
    headers.set('content-type', 'application/json')
  }
  return new Request(`http://localhost${path}`, { ...init, headers })
}
