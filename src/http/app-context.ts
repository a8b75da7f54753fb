/** The dependencies of the routes; `serve.ts` passes the real ones. */

import type { Logger } from 'pino'
import type { CertificateSource } from '../certificates/certificate.ts'
import type { DemoRuns } from '../demo/demo-runs.ts'
import type { Geoip } from '../geoip.ts'
import type { TableState } from '../hogql/clickhouse/table-state.ts'
import type { KnownPropertyType } from '../hogql/context.ts'
import type { IngestReports } from '../ingest/notes/reports.ts'
import type { Capture } from '../ingest/threads/capture.ts'
import type { Pictures } from '../pictures/pictures.ts'
import type { Addresses } from '../plugins/addresses.ts'
import type { Destinations } from '../plugins/destinations.ts'
import type { ControlDB } from '../projects/rights/access.ts'
import type { DetectedOwner, EventDefinition, PropertyDefinition } from '../query/definitions.ts'
import type { QueryEngine } from '../query/engine/engine.ts'
import type { KeyLimits } from '../query/service/key-limits.ts'
import type { QueryService } from '../query/service/service.ts'
import type { CohortCalculator } from '../targeting/cohorts/cohort-calculator.ts'
import type { FlagDefinitions } from '../targeting/flags/flag-definitions.ts'
import type { Targeting } from '../targeting/open-targeting.ts'
import type { PersonSource } from '../targeting/shared/person-reads.ts'
import type { EventLoops } from '../threads/loop-memory.ts'
import type { Timings } from '../threads/timings.ts'
import type { Bodies } from './bodies/body.ts'
import type { Downloads } from './browser/downloads.ts'
import type { LoginTries } from './browser/login-tries.ts'
import type { FailedKeys } from './callers/failed-keys.ts'
import type { SettableClock } from './settable-clock.ts'

/** The room on the disk of the data folder. */
type DiskSpace = {
  readonly bytes: number
  /** Bytes that a process of this user may still write. */
  readonly free_bytes: number
  /** Below it a server is not ready. */
  readonly free_bytes_min: number
}

/** The disk of the data folder. Both throw what the system says when the folder is gone. */
export type DataDisk = {
  readonly read: () => DiskSpace
  /** Throws on a disk that has turned read-only, as Linux does with one that has failed. */
  readonly requireWritable: () => void
}

/** Counts and times of the backups since the server's start. */
export type BackupState = {
  readonly done: number
  readonly failed: number
  /** Of the newest whole backup; null while none is known. */
  readonly made_at: Date | null
  /** The due time of the next one, perhaps past; null until the store has been asked. */
  readonly due_at: Date | null
}

/** The source from which standbys read this server's databases and files. */
export type LogShippingSource = {
  /** The secret that standbys send. */
  readonly key: string
  /** Reads the log after a position, with its bytes; null while the database is not open. */
  readonly read: (
    database: 'control' | 'events',
    standby: string,
    position: { readonly salts: string; readonly frames: number } | null,
    manifest_version: number,
  ) => { readonly log: object; readonly bytes: Uint8Array } | null
  readonly readPages: (database: 'control' | 'events', offset: number, length: number) => Uint8Array
  /** The path of a snapshot file; null for a text that is no id. */
  readonly filePath: (project_id: number, id: string) => string | null
  /** Standbys that asked lately. */
  readonly list: () => readonly {
    readonly id: string
    readonly seen_s: number
    readonly behind_bytes: number
  }[]
}

export type AppContext = {
  readonly control: ControlDB
  /** Resolves when everything that is committed to `control` is on the disk; null when it is already. */
  readonly settleControl: () => Promise<void> | null
  /** Looks on another thread whether control.db is damaged, which ends the server. Called after errors of the storage. */
  readonly checkControl: () => void
  readonly capture: Pick<Capture, 'send'>
  /** Stores the events that edges send. */
  readonly forwarding: Pick<Capture, 'forward'>
  /** Changes the types with which properties are read. */
  readonly property_types: Pick<Capture, 'changePropertyType'>
  /** Splits, restores and deletes persons; deletes groups. */
  readonly identity: Pick<Capture, 'changePerson' | 'deleteGroup'>
  /** Writes the flags' own rows in `events.db`: static cohort members and overrides of hash keys. */
  readonly flag_rows: Pick<Capture, 'changeCohort' | 'storeOverrides'>
  readonly definitions: {
    /** The index of each group type by name. */
    groupTypes(project_id: number): ReadonlyMap<string, number>
    listEvents(project_id: number): readonly EventDefinition[]
    /** Facts about its tables in ClickHouse; null where events are on this machine. */
    clickhouseState?(project_id: number): TableState | null
    listProperties(project_id: number, owner: DetectedOwner): readonly PropertyDefinition[]
    propertyTypes(project_id: number): ReadonlyMap<string, KnownPropertyType>
  }
  /** Reports of ingestion: warnings of projects, counters for metrics. */
  readonly ingest: Pick<
    IngestReports,
    'listCounters' | 'listEdges' | 'listNewest' | 'listWarnings' | 'readLog' | 'readSeq'
  >
  readonly engine: Pick<QueryEngine, 'state' | 'wake'>
  /** The certificate of https; null with http. */
  readonly certificate: Pick<CertificateSource, 'state'> | null
  /** Counts of work on snapshot files since the start, by kind of work. */
  readonly snapshots: {
    readonly work: Readonly<Record<string, { readonly done: number; readonly failed: number }>>
  }
  readonly flags: Pick<
    FlagDefinitions,
    | 'expectChange'
    | 'findProject'
    | 'flagsOf'
    | 'readyFlagsWithAllGroupTypes'
    | 'uncommittedFlagsOf'
    | 'hasActiveFlags'
    | 'readyFlagsOf'
  >
  readonly persons: PersonSource
  /** Tells when control.db has changed. */
  readonly control_changes: Pick<Targeting['control_changes'], 'version'>
  readonly cohorts: Pick<CohortCalculator, 'look'>
  readonly geoip: Geoip
  readonly query_service: Pick<
    QueryService,
    | 'answer'
    | 'answerInParts'
    | 'cancel'
    | 'cancelRunning'
    | 'export'
    | 'forgetAnswers'
    | 'listRunning'
    | 'readStatus'
  >
  /** Rate limit for unknown keys and invites. */
  readonly failed_keys: Pick<FailedKeys, 'guard'>
  /** Rate limit for wrong passwords. */
  readonly login_tries: Pick<LoginTries, 'guard'>
  /** Limits of one key for the query engine. */
  readonly key_limits: Pick<KeyLimits, 'enter'>
  /** Limits of one key for the management API. */
  readonly call_limits: Pick<KeyLimits, 'enter'>
  readonly query_limits: { readonly rows_max: number }
  /** The most objects of one kind in a project: insights, flags and the like. */
  readonly saved_max: number
  /** The most feature flags in a project, which all are evaluated for each request. */
  readonly flags_max: number
  /** The most bytes that all objects of one kind in a project take together. */
  readonly saved_bytes_max: number
  /** The most organizations that one user may own. */
  readonly organizations_max: number
  /** The most projects that one organization may have. */
  readonly projects_max: number
  /** Addresses that this server may call on behalf of callers. */
  readonly addresses: Addresses
  readonly destinations: Pick<Destinations, 'lastSeq'>
  readonly demo: Pick<DemoRuns, 'look'>
  /** Exports that browsers are about to fetch. */
  readonly downloads: Pick<Downloads, 'add' | 'take'>
  readonly pictures: Pick<Pictures, 'draw' | 'requireChromium'>
  /** Null in a server without TIDEMARK_REPLICA_KEY, which has no standbys. */
  readonly log_shipping: LogShippingSource | null
  /** Null while the server makes no backups. */
  readonly backups: { readonly state: BackupState } | null
  /** Removes all data of a deleted project, in the background. */
  readonly removeProjectData: (project_id: number) => void
  readonly log: Pick<Logger, 'debug' | 'error' | 'warn'>
  readonly bodies: Bodies
  /** Heartbeats of all threads. */
  readonly event_loops: EventLoops
  readonly disk: DataDisk
  /** Durations that GET /_metrics prints. */
  readonly timings: Timings
  /** Networks that may read metrics. */
  readonly metrics_networks: readonly string[]
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trusted_proxies: readonly string[]
  /** Lets in who can read the data folder (`operator.ts`). */
  readonly operator_key: string
  /** True from the moment a stop was requested. */
  readonly isStopping: () => boolean
  /** The address under which clients reach this server, without a final slash. */
  readonly publicUrl: () => string
  readonly now: () => Date
  /** The clock that `now` reads, where callers may set it: in an ephemeral server. */
  readonly clock?: SettableClock
}

/** The dependencies of the endpoints for SDKs: an edge has these too. */
export type PublicContext = Pick<
  AppContext,
  | 'bodies'
  | 'capture'
  | 'control'
  | 'flag_rows'
  | 'flags'
  | 'geoip'
  | 'log'
  | 'now'
  | 'persons'
  | 'timings'
  | 'trusted_proxies'
>
