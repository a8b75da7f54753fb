/** The server process of an edge: it answers SDKs by itself, from copies; everything else is for its home. */
import { createEdgeApp } from '../app.ts'
import { MIB } from '../bytes.ts'
import { openCertificates } from '../certificates/open-certificates.ts'
import { type Config, ConfigError } from '../config.ts'
import { EdgeDefinitions } from '../edge/definitions.ts'
import { type EdgeCapture, openEdgeCapture } from '../edge/edge-capture.ts'
import { Forwarder, type ForwarderContext } from '../edge/forwarder.ts'
import { Home } from '../edge/home.ts'
import { EdgePersons } from '../edge/persons.ts'
import { Refusal } from '../errors.ts'
import { findGeoipFiles, openGeoip } from '../geoip.ts'
import type { PublicContext } from '../http/app-context.ts'
import { limitBodies } from '../http/bodies/body.ts'
import { edgeHealthEndpoints } from '../http/edges/edge-health.ts'
import { passOthersOn, refuseOthers } from '../http/edges/others.ts'
import { CAPTURE_LIMITS, UNAVAILABLE } from '../ingest/threads/messages.ts'
import type { Log } from '../logs.ts'
import type { Project } from '../projects/settings/project.ts'
import { ControlChanges } from '../storage/control/control-changes.ts'
import { type Control, openControl } from '../storage/control/control-db.ts'
import { PersonReader } from '../storage/persons/person-reader.ts'
import { type DefinitionSources, FlagDefinitions } from '../targeting/flags/flag-definitions.ts'
import type { PersonSource } from '../targeting/shared/person-reads.ts'
import { createEventLoops } from '../threads/loop-memory.ts'
import { createTimings, type Timings } from '../threads/timings.ts'
import { noteFaults, openFolder } from './folder.ts'
import { type ListeningServer, listen, type Server } from './listening.ts'
import { openTraces } from './trace-sender.ts'
import { watchEventLoops } from './watchdog.ts'

const now = (): Date => new Date()

/** Starts an edge of the server at `forward_to`. */
export async function openEdge(
  config: Config,
  log: Log,
  parts: AsyncDisposableStack,
): Promise<Server> {
  const home = openHome(config)
  const lock = openFolder(config.data_dir, log, parts)
  const { broken, onBroken } = noteFaults(lock)
  const event_loops = createEventLoops()
  const timings = createTimings(openTraces(config, log, parts))
  const control = openControl(config.data_dir)
  parts.defer(() => control.close())
  const edge = await openEdgeCapture({
    ...captureSettings(config),
    event_loops,
    timings: timings.commits,
    log,
    onBroken,
    onStored: () => forwarder.wake(),
  })
  parts.defer(() => edge.capture.close())
  const copies = openCopies(config, log, home, edge, parts)
  const { data_dir } = config
  const { definitions } = copies
  const forwarder = openForwarder(config, log, { home, ...edge, definitions }, parts)

  const needs = createContext(config, log, { control, edge, copies, timings })
  const state = { is_stopping: false }
  const certificates = await openCertificates(config, { log, now, may_order: true }, parts)
  const own = edgeHealthEndpoints({
    certificate: certificates,
    event_loops,
    forwarder,
    hasDefinitions: () => definitions.is_present,
    isStopping: () => state.is_stopping,
    metrics_networks: config.metrics_networks,
    now,
    publicUrl: () => http.url,
  })
  const app = createEdgeApp(needs, own, answerOthers(config, needs, home))
  const http: ListeningServer = listen(config, app, { certificates, log })
  watchEventLoops(event_loops, { stall_log_ms: config.stall_log_ms, log_level: log.level }, parts)
  definitions.start()
  copies.persons.start()
  forwarder.start()
  // An edge computes no queries, so it has none to show to an operator.
  lock.announce({ url: http.url, local_url: http.local_url, operator_key: null })
  log.info({ url: http.url, home: home.url, pid: process.pid, data_dir }, 'listening')
  return {
    url: http.url,
    control,
    first: null,
    broken,
    async stop() {
      state.is_stopping = true
      await http.stop()
      await parts.disposeAsync()
    },
  }
}

/** Opens the forwarder without starting it. */
function openForwarder(
  { data_dir, edge_name: name }: Config,
  log: Log,
  needs: Pick<ForwarderContext, 'confirm' | 'definitions' | 'home' | 'resume' | 'setAside'>,
  parts: AsyncDisposableStack,
): Forwarder {
  const forwarder = new Forwarder({ ...needs, data_dir, name, log, now })
  parts.defer(() => forwarder.close())
  return forwarder
}

const captureSettings = (config: Config) => ({
  data_dir: config.data_dir,
  limits: { body_bytes_max: config.body_bytes_max },
  geoip_files: findGeoipFiles(config.geoip_database),
  bytes_max: config.edge_disk_mb * MIB,
})

/** Passes queries and management calls on to the home, or refuses them, as the setting says. */
function answerOthers(
  { edge_others }: Config,
  needs: PublicContext,
  home: Home,
): ReturnType<typeof refuseOthers> {
  const others = { ...needs, home_url: home.url }
  return edge_others === 'pass' ? passOthersOn(others) : refuseOthers(others)
}

function openHome({ forward_to, forward_key }: Config): Home {
  if (forward_to === null || forward_key === null) {
    throw new ConfigError(
      'TIDEMARK_FORWARD_TO needs TIDEMARK_FORWARD_KEY, a personal API key of that server',
    )
  }
  return new Home({ url: forward_to, key: forward_key })
}

/** The copies of definitions and persons, and their readers. */
function openCopies(
  { data_dir, edge_refresh_s }: Config,
  log: Log,
  home: Home,
  edge: EdgeCapture,
  parts: AsyncDisposableStack,
) {
  const shared = { data_dir, home, log, now, refresh_ms: edge_refresh_s * 1000 }
  const definitions = new EdgeDefinitions({ ...shared, takeGroupTypes: edge.takeGroupTypes })
  parts.defer(() => definitions.close())
  const persons = new EdgePersons({ ...shared, replicate: edge.replicate })
  parts.defer(() => persons.close())
  const watch = new ControlChanges(data_dir)
  parts.defer(() => watch.close())
  const reader = new PersonReader(data_dir)
  parts.defer(() => reader.close())
  return { definitions, persons, reader, watch }
}

type EdgeParts = {
  readonly control: Control
  readonly edge: EdgeCapture
  readonly copies: ReturnType<typeof openCopies>
  readonly timings: Timings
}

/** Builds the context of the endpoints for SDKs. Before the first definitions no token is known, so answers are 503, not 401. */
function createContext(
  config: Config,
  log: Log,
  { control, edge, copies, timings }: EdgeParts,
): PublicContext {
  const { definitions, persons, reader, watch } = copies
  const sources = { control: control.db, watch, persons: reader }
  const flags = new EdgeFlags(sources, () => definitions.is_present)
  const unknownOf: PersonSource['unknownOf'] = (project_id, needed) => {
    const { distinct_id, anon_distinct_id: anon } = needed
    const person = distinct_id !== null && !persons.knowsPerson(project_id, distinct_id)
    const is_anon_unknown = anon !== null && !persons.knowsPerson(project_id, anon)
    const groups = needed.groups
      .filter((group) => !persons.knowsGroup(project_id, group.group_type_index, group.group_key))
      .map(({ group_type_index }) => group_type_index)
    // A copy that is known now must be seen by the reads that follow.
    reader.refresh()
    return { person, groups, overrides: person || is_anon_unknown }
  }
  return {
    control: control.db,
    capture: {
      send: (request) =>
        definitions.is_present ? edge.capture.send(request) : Promise.resolve(UNAVAILABLE),
    },
    // Cohorts are changed at home.
    flag_rows: {
      changeCohort: () => Promise.resolve(),
      storeOverrides: (rows) => edge.capture.storeOverrides(rows),
    },
    flags,
    persons: Object.assign(reader, { unknownOf }),
    geoip: openGeoip(findGeoipFiles(config.geoip_database)),
    log,
    bodies: limitBodies({
      body_bytes_max: config.body_bytes_max,
      receiving_bytes_max: CAPTURE_LIMITS.in_flight_bytes_max,
      trusted_proxies: config.trusted_proxies,
    }),
    trusted_proxies: config.trusted_proxies,
    timings,
    now,
  }
}

/** Flags from copies. Before the first definitions every token is unknown, which must not look like a wrong one. */
class EdgeFlags extends FlagDefinitions {
  readonly #isPresent: () => boolean

  constructor(sources: DefinitionSources, isPresent: () => boolean) {
    super(sources)
    this.#isPresent = isPresent
  }

  override findProject(api_token: string): Project | null {
    if (this.#isPresent()) return super.findProject(api_token)
    throw new Refusal('storage_unavailable', 'This edge has no definitions from its home yet.')
  }
}
