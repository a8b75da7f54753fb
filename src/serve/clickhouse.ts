/** Opens ClickHouse as the holder of events: checks its servers, the shipper, and the engine that asks it. */
import { mkdirSync, rmSync } from 'node:fs'
import { MIB } from '../bytes.ts'
import { type Config, ConfigError } from '../config.ts'
import { errorMessage } from '../error-message.ts'
import { LIVE_ROWS_MAX } from '../http/analytics/events/live-batch.ts'
import type { Capture } from '../ingest/threads/capture.ts'
import type { Log } from '../logs.ts'
import { trimLimit } from '../plugins/destinations.ts'
import { getHome } from '../projects/settings/home.ts'
import { leaveMoved } from '../projects/settings/moved-project.ts'
import { listProjectIds } from '../projects/settings/project.ts'
import { retentionMonths } from '../projects/settings/retention.ts'
import { ClickHouseEngine } from '../query/clickhouse/clickhouse-engine.ts'
import { FreshEngine } from '../query/clickhouse/fresh-engine.ts'
import type { QueryEngine } from '../query/engine/engine.ts'
import { whenAborted } from '../query/scheduling/abort-signal.ts'
import { ClaimFault, type ProjectClaims, ProjectsMoved } from '../shipping/claims.ts'
import { shipmentsFolder } from '../shipping/shipment-files.ts'
import { Shipper } from '../shipping/shipper.ts'
import { ClickHouseClient } from '../storage/clickhouse/clickhouse-client.ts'
import { ClickHouseNodes } from '../storage/clickhouse/clickhouse-nodes.ts'
import { ClickHouseUnfit } from '../storage/clickhouse/clickhouse-schema.ts'
import type { Control } from '../storage/control/control-db.ts'
import { gatheredFolder } from '../storage/files/parquet.ts'
import { countFiles, isShipped } from '../storage/log/shipments.ts'
import { openClaims } from './home-store.ts'

/** The part of an engine that the rest of the server uses. */
export type EnginePart = Pick<QueryEngine, 'run' | 'close' | 'state' | 'wake'>

/** The longest time that a query waits for ClickHouse to have the events captured before it. */
const FRESH_MS_MAX = 2000
/** The longest time that the start of a folder that ships already waits for each answer of ClickHouse. */
const START_MS_MAX = 5000
/** Rows that one query may read there. */
const ROWS_READ_MAX = 10_000_000_000

type ClickHouseParts = {
  readonly control: Control
  readonly capture: Capture
  readonly log: Log
  /** Opens the engine of this machine, which folds the rows that ClickHouse gathers. */
  readonly openFolding: () => QueryEngine
}

/** The servers of the settings; null without an address. */
export function clickhouseNodes(config: Config): ClickHouseNodes | null {
  const [first, ...others] = config.clickhouse_url.map((url) => clientFor(config, url))
  if (first === undefined) return null
  const { clickhouse_cluster: cluster } = config
  if (cluster === null && others.length > 0)
    throw new ConfigError(
      'TIDEMARK_CLICKHOUSE_URL names several addresses: TIDEMARK_CLICKHOUSE_CLUSTER must name their cluster',
    )
  return new ClickHouseNodes({ writers: [first, ...others], reader: readerFor(config), cluster })
}

function clientFor(config: Config, url: string): ClickHouseClient {
  const { clickhouse_user: user, clickhouse_password: password } = config
  return new ClickHouseClient({
    url,
    user,
    password: password ?? '',
    database: config.clickhouse_database,
  })
}

function readerFor(config: Config): ClickHouseClient {
  return new ClickHouseClient({
    url: config.clickhouse_url[0] ?? '',
    user: config.clickhouse_read_user,
    password: config.clickhouse_read_password ?? '',
    database: config.clickhouse_database,
  })
}

/**
 * Opens the shipper without starting it, and the engine; null without the setting of an address. Refuses a folder with
 * events in files, which ClickHouse would not find, and one with events in ClickHouse without an address. Close both
 * before ingestion.
 */
export async function openClickHouse(
  config: Config,
  { openFolding, ...parts }: ClickHouseParts,
): Promise<{ readonly shipper: Shipper; readonly engine: EnginePart } | null> {
  const opened = await openShipper(config, parts)
  if (opened === null) return null
  const { shipper, nodes } = opened
  // The query process gets the right to read it when it starts.
  mkdirSync(gatheredFolder(config.data_dir), { recursive: true })
  return {
    shipper,
    engine: openEngine(config, nodes, { shipper, folding: openFolding(), log: parts.log }),
  }
}

/** Opens the shipper alone, as above. */
export async function openShipper(
  config: Config,
  { control, capture, log }: Omit<ClickHouseParts, 'openFolding'>,
): Promise<{ readonly shipper: Shipper; readonly nodes: ClickHouseNodes } | null> {
  const nodes = clickhouseNodes(config)
  const is_shipped = isShipped(config.data_dir)
  if (nodes === null) {
    if (!is_shipped) return null
    throw new ConfigError(
      'the events of this folder are in ClickHouse: set TIDEMARK_CLICKHOUSE_URL',
    )
  }
  const files = countFiles(config.data_dir)
  if (files > 0)
    throw new ConfigError(
      `${files} snapshot files of this folder are not in ClickHouse yet: run "tidemark clickhouse fill" first`,
    )
  const claims = openClaims(config.data_dir, nodes, control.db)
  const has_claimed = getHome(control.db).claimed_log_id !== null
  const may_wait = is_shipped && has_claimed
  const inTime = may_wait ? orLate : (work: Promise<void>) => work
  await fitOrWait({
    fit: async () => {
      await inTime(nodes.fit())
      await claimOwn({ claim: () => inTime(claims.claim()) }, (moved) =>
        setAside(moved, { data_dir: config.data_dir, control, capture, log }),
      )
    },
    may_wait,
    log,
  })
  const shipper = new Shipper({
    data_dir: config.data_dir,
    nodes,
    claims,
    capture,
    listProjects: () => listProjectIds(control.db),
    monthsKept: (project_id) => retentionMonths(control.db, project_id, config.retention_months),
    // Live lists read the newest events of the log, which would leave it within two seconds.
    trimmable: (shipped_seq) => trimLimit(control.db, shipped_seq) - LIVE_ROWS_MAX,
    is_confined: config.query_confinement === 'on',
    log,
  })
  await shipper.prepare()
  return { shipper, nodes }
}

/** Claims the folder's projects; those that have moved to another server since are set aside first. */
async function claimOwn(
  claims: Pick<ProjectClaims, 'claim'>,
  setMovedAside: (moved: ProjectsMoved['projects']) => Promise<void>,
): Promise<void> {
  try {
    await claims.claim()
  } catch (error) {
    if (!(error instanceof ProjectsMoved)) throw error
    await setMovedAside(error.projects)
    await claims.claim()
  }
}

/**
 * Leaves projects to the server that has them: their rows go, then their definitions. Events of theirs that the log still
 * has were in ClickHouse before they could move. Each step is done again at the next start.
 */
async function setAside(
  moved: ProjectsMoved['projects'],
  { data_dir, control, capture, log }: AsideParts,
): Promise<void> {
  // Batches may have events of theirs: they are written again from the log.
  rmSync(shipmentsFolder(data_dir), { recursive: true, force: true })
  for (const { project_id, home_number } of moved) {
    await capture.forgetProject(project_id)
    const to = home_number === null ? 'another server' : `the server with number ${home_number}`
    leaveMoved(control.db, { project_id, to }, new Date())
    log.warn(
      { project_id, home_number },
      `project ${project_id} moved to ${to} after this folder was backed up: it is not served here`,
    )
  }
}

type AsideParts = Omit<ClickHouseParts, 'openFolding'> & { readonly data_dir: string }

type FitTerms = {
  readonly fit: () => Promise<void>
  /**
   * False for a folder that has shipped nothing yet, and for a restored folder, whose projects may have other homes by
   * now.
   */
  readonly may_wait: boolean
  readonly log: Log
}

/** Rejects when something takes too long, which goes on: the shipper does the same again. */
async function orLate(work: Promise<void>): Promise<void> {
  const late = AbortSignal.timeout(START_MS_MAX)
  await Promise.race([work, whenAborted(late)])
  if (late.aborted) throw new Error('ClickHouse does not answer')
}

/** A folder that ships already may start while ClickHouse is away: its events wait in the log. */
async function fitOrWait({ fit, may_wait, log }: FitTerms): Promise<void> {
  try {
    await fit()
  } catch (error) {
    if (error instanceof ClickHouseUnfit || error instanceof ClaimFault)
      throw new ConfigError(error.message)
    const reason = errorMessage(error)
    if (!may_wait) throw new ConfigError(`ClickHouse cannot be reached: ${reason}`)
    log.warn({ reason }, 'ClickHouse cannot be reached: events wait in the log')
  }
}

type EngineMeans = {
  readonly shipper: Shipper
  readonly folding: QueryEngine
  readonly log: Log
}

function openEngine(
  config: Config,
  nodes: ClickHouseNodes,
  { shipper, folding, log }: EngineMeans,
): EnginePart {
  const asking = new ClickHouseEngine({
    reader: readerFor(config),
    writer: nodes.first,
    limits: {
      running_max: config.queries_running_max,
      waiting_max: config.queries_waiting_max,
      memory_bytes_max: config.query_memory_mb * MIB,
      rows_read_max: ROWS_READ_MAX,
      result_bytes_max: config.query_result_bytes_max,
      spill_mb: config.query_spill_mb,
    },
    folding,
    data_dir: config.data_dir,
    log,
  })
  const terms = { wait_ms: FRESH_MS_MAX, stale_ms: config.clickhouse_stale_s * 1000 }
  const fresh = new FreshEngine(asking, (project_id) => shipper.waitForProject(project_id, terms))
  return {
    run: (query, options) => fresh.run(query, options),
    // Few of its queries need the process of this machine.
    wake: () => undefined,
    close: async () => {
      asking.close()
      await folding.close()
    },
    get state() {
      return {
        ...folding.state,
        ...asking.load,
        unready:
          shipper.state.failure === null ? asking.unready : 'ClickHouse does not take events.',
      }
    },
  }
}
