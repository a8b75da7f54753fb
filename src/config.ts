/** SETTINGS: every setting of the server, read and checked once at start; the only file that reads the environment. */
import { accessSync, constants } from 'node:fs'
import { KIB, MIB } from './bytes.ts'
import { ADDRESS_SETTINGS } from './config/address-settings.ts'
import { BACKUP_SETTINGS } from './config/backup-settings.ts'
import { CLICKHOUSE_SETTINGS } from './config/clickhouse-settings.ts'
import { EDGE_SETTINGS } from './config/edge-settings.ts'
import {
  oneOf,
  readEmailOrNothing,
  readFolder,
  readNetworks,
  readPasswordOrNothing,
  readPathOrNothing,
  readPersonalKey,
  readProgram,
  readProjectToken,
  readThreads,
  readUrlOrNothing,
  readWord,
  type SettingValue,
  wholeNumber,
} from './config/readings.ts'
import { SAVED_SETTINGS } from './config/saved-settings.ts'
import { STANDBY_SETTINGS } from './config/standby-settings.ts'
import { TRACE_SETTINGS } from './config/trace-settings.ts'

type SettingDefinition = {
  /** The setting's name in the code. */
  readonly key: string
  /** The environment variable. */
  readonly env: string
  /** A variable of other programs that is read when the first one is not set. */
  readonly env_else?: string
  /** The flag of `tidemark serve`; null for secrets, which every user of the machine could read in the process list. */
  readonly flag: string | null
  readonly read: (text: string) => SettingValue<unknown>
  /** The default as text, parsed like any other. */
  readonly fallback: string
  readonly help: string
}

/** Every setting. A new line adds an environment variable, a flag, its help and its check. */
export const SETTINGS = [
  {
    key: 'host',
    env: 'TIDEMARK_HOST',
    flag: '--host <address>',
    read: readWord,
    fallback: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 for every network of this machine',
  },
  {
    key: 'port',
    env: 'TIDEMARK_PORT',
    flag: '--port <number>',
    read: wholeNumber(0, 65_535),
    fallback: '8000',
    help: 'port to listen on; 0 takes any free one',
  },
  {
    key: 'data_dir',
    env: 'TIDEMARK_DATA_DIR',
    flag: '--data-dir <folder>',
    read: readFolder,
    fallback: './data',
    help: 'folder that holds everything; created when missing',
  },
  {
    key: 'public_url',
    env: 'TIDEMARK_PUBLIC_URL',
    flag: '--public-url <url>',
    read: readUrlOrNothing,
    fallback: '',
    help: 'address that clients use, for links in answers; default: where the server listens',
  },
  ...ADDRESS_SETTINGS,
  {
    key: 'trusted_proxies',
    env: 'TIDEMARK_TRUSTED_PROXIES',
    flag: '--trusted-proxies <list>',
    read: readNetworks,
    fallback: '',
    help: 'addresses or networks, comma-separated, whose X-Forwarded-For is trusted, as 10.0.0.0/8',
  },
  {
    key: 'metrics_networks',
    env: 'TIDEMARK_METRICS_NETWORKS',
    flag: '--metrics-networks <list>',
    read: readNetworks,
    fallback: '127.0.0.1,::1',
    help: 'addresses or networks, comma-separated, that may read GET /_metrics directly; 0.0.0.0/32 for nobody',
  },
  {
    key: 'api_rate_per_minute',
    env: 'TIDEMARK_API_RATE_PER_MINUTE',
    flag: '--api-rate-per-minute <calls>',
    read: wholeNumber(0, 1_000_000),
    fallback: '0',
    help: 'calls of the management API that one personal API key may make in a minute; 0 for no limit',
  },
  {
    key: 'failed_keys_per_minute',
    env: 'TIDEMARK_FAILED_KEYS_PER_MINUTE',
    flag: '--failed-keys-per-minute <tries>',
    read: wholeNumber(0, 1_000_000),
    fallback: '300',
    help: 'wrong personal API keys and invites that one address (of IPv6, one /64) may try in a minute before its calls are answered 429; callers on this machine are not counted; 0 for no limit',
  },
  ...SAVED_SETTINGS,
  {
    key: 'webhook_networks',
    env: 'TIDEMARK_WEBHOOK_NETWORKS',
    flag: '--webhook-networks <list>',
    read: readNetworks,
    fallback: '',
    help: 'private addresses or networks, comma-separated, that webhooks may call nevertheless, as 10.1.0.0/16',
  },
  {
    key: 'log_level',
    env: 'TIDEMARK_LOG_LEVEL',
    flag: '--log-level <level>',
    read: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    fallback: 'info',
    help: 'least severe log lines to write: trace, debug, info, warn, error, fatal or silent',
  },
  {
    key: 'stall_log_ms',
    env: 'TIDEMARK_STALL_LOG_MS',
    flag: '--stall-log-ms <milliseconds>',
    read: wholeNumber(0, 60_000),
    fallback: '100',
    help: 'time for which a request may hold a thread that others wait for before it is logged; 0 logs none',
  },
  {
    key: 'slow_query_ms',
    env: 'TIDEMARK_SLOW_QUERY_MS',
    flag: '--slow-query-ms <milliseconds>',
    read: wholeNumber(0, 3_600_000),
    fallback: '0',
    help: 'time after which a computed query is logged with its HogQL, which may contain text of users; 0 logs none',
  },
  {
    key: 'slow_query_plan',
    env: 'TIDEMARK_SLOW_QUERY_PLAN',
    flag: '--slow-query-plan <on|off>',
    read: oneOf(['on', 'off']),
    fallback: 'off',
    help: "whether the engine's plan of such a query is logged too: on or off",
  },
  {
    key: 'body_bytes_max',
    env: 'TIDEMARK_BODY_BYTES_MAX',
    flag: '--body-bytes-max <bytes>',
    read: wholeNumber(KIB, 1024 * MIB),
    fallback: String(20 * MIB),
    help: 'largest request body, as sent and after decompression',
  },
  {
    key: 'disk_free_min_mb',
    env: 'TIDEMARK_DISK_FREE_MIN_MB',
    flag: '--disk-free-min-mb <megabytes>',
    read: wholeNumber(0, 1024 * 1024),
    fallback: '256',
    help: 'room on the disk of the data folder below which GET /_readyz answers 503; 0 for never',
  },
  {
    key: 'dedup_days',
    env: 'TIDEMARK_DEDUP_DAYS',
    flag: '--dedup-days <days>',
    read: wholeNumber(1, 3650),
    fallback: '30',
    help: 'days for which an event sent again with the same uuid is certainly stored once',
  },
  {
    key: 'geoip_database',
    env: 'TIDEMARK_GEOIP_DATABASE',
    flag: '--geoip-database <path>',
    read: readPathOrNothing,
    fallback: '',
    help: 'city database in MaxMind format, or the folder with one; default: the one that comes with Tidemark',
  },
  {
    key: 'chromium',
    env: 'TIDEMARK_CHROMIUM',
    flag: '--chromium <path>',
    read: readProgram,
    fallback: 'auto',
    help: 'Chromium that draws insights and dashboards as pictures: its path; auto looks for one in PATH; off draws none',
  },
  {
    key: 'query_timeout_s',
    env: 'TIDEMARK_QUERY_TIMEOUT_S',
    flag: '--query-timeout-s <seconds>',
    read: wholeNumber(1, 3600),
    fallback: '60',
    help: 'time a query may take',
  },
  {
    key: 'query_memory_mb',
    env: 'TIDEMARK_QUERY_MEMORY_MB',
    flag: '--query-memory-mb <megabytes>',
    read: wholeNumber(64, 1024 * KIB),
    fallback: '1024',
    help: 'memory that queries of one process may use together; beyond it they spill to disk or are refused',
  },
  {
    key: 'query_threads',
    env: 'TIDEMARK_QUERY_THREADS',
    flag: '--query-threads <number>',
    read: readThreads,
    fallback: '0',
    help: 'threads that compute answers; 0 for one per processor core',
  },
  {
    key: 'query_rows_max',
    env: 'TIDEMARK_QUERY_ROWS_MAX',
    flag: '--query-rows-max <rows>',
    read: wholeNumber(1, 1_000_000),
    fallback: '50000',
    help: 'largest answer in rows',
  },
  {
    key: 'query_result_bytes_max',
    env: 'TIDEMARK_QUERY_RESULT_BYTES_MAX',
    flag: '--query-result-bytes-max <bytes>',
    read: wholeNumber(KIB, 1024 * MIB),
    fallback: String(64 * MIB),
    help: 'largest answer in bytes of JSON',
  },
  {
    key: 'queries_running_max',
    env: 'TIDEMARK_QUERIES_RUNNING_MAX',
    flag: '--queries-running-max <number>',
    read: wholeNumber(1, 256),
    fallback: '4',
    help: 'queries answered at the same time, and one more of a project of which none runs',
  },
  {
    key: 'queries_waiting_max',
    env: 'TIDEMARK_QUERIES_WAITING_MAX',
    flag: '--queries-waiting-max <number>',
    read: wholeNumber(0, 10_000),
    fallback: '16',
    help: 'queries that may wait for their turn; further ones are answered 429',
  },
  {
    key: 'query_cache_mb',
    env: 'TIDEMARK_QUERY_CACHE_MB',
    flag: '--query-cache-mb <megabytes>',
    read: wholeNumber(1, 1024 * 1024),
    fallback: '256',
    help: 'answers kept to be given again, and as much for results of background queries',
  },
  {
    key: 'query_spill_mb',
    env: 'TIDEMARK_QUERY_SPILL_MB',
    flag: '--query-spill-mb <megabytes>',
    read: wholeNumber(16, 1024 * 1024),
    fallback: '10240',
    help: 'disk that queries which do not fit into memory may use together; the last gigabyte stays free',
  },
  {
    key: 'query_confinement',
    env: 'TIDEMARK_QUERY_CONFINEMENT',
    flag: '--query-confinement <on|off>',
    read: oneOf(['on', 'off']),
    fallback: 'on',
    help: 'whether the processes of queries and snapshots give up other files, and queries also the network and other processes, as far as the system lets them: on or off',
  },
  {
    key: 'query_background_timeout_s',
    env: 'TIDEMARK_QUERY_BACKGROUND_TIMEOUT_S',
    flag: '--query-background-timeout-s <seconds>',
    read: wholeNumber(1, 24 * 3600),
    fallback: '600',
    help: 'time a query may take in the background',
  },
  {
    key: 'queries_background_max',
    env: 'TIDEMARK_QUERIES_BACKGROUND_MAX',
    flag: '--queries-background-max <number>',
    read: wholeNumber(0, 100_000),
    fallback: '1000',
    help: 'background queries that may wait for their turn; further ones are answered 429',
  },
  {
    key: 'export_rows_max',
    env: 'TIDEMARK_EXPORT_ROWS_MAX',
    flag: '--export-rows-max <rows>',
    read: wholeNumber(0, 1_000_000_000_000),
    fallback: '0',
    help: 'rows of an export (CSV, JSON lines, Arrow, Parquet, XLSX); 0 for no limit: exports are streamed, whatever their length',
  },
  {
    key: 'export_mb_max',
    env: 'TIDEMARK_EXPORT_MB_MAX',
    flag: '--export-mb-max <megabytes>',
    read: wholeNumber(1, 1024 * 1024 * 1024),
    fallback: String(100 * 1024),
    help: 'megabytes that one export may send; a longer one breaks off',
  },
  {
    key: 'export_timeout_s',
    env: 'TIDEMARK_EXPORT_TIMEOUT_S',
    flag: '--export-timeout-s <seconds>',
    read: wholeNumber(1, 24 * 3600),
    fallback: '3600',
    help: 'time that an export may take as a whole, its reader included; a reader who takes nothing for a minute is cut off anyway',
  },
  {
    key: 'queries_per_key_max',
    env: 'TIDEMARK_QUERIES_PER_KEY_MAX',
    flag: '--queries-per-key-max <number>',
    read: wholeNumber(0, 10_000),
    fallback: '0',
    help: 'queries one personal API key may have answered at the same time; 0 for no limit',
  },
  {
    key: 'query_rate_per_minute',
    env: 'TIDEMARK_QUERY_RATE_PER_MINUTE',
    flag: '--query-rate-per-minute <number>',
    read: wholeNumber(0, 1_000_000),
    fallback: '0',
    help: 'queries one personal API key may ask in a minute, on average; 0 for no limit',
  },
  {
    key: 'query_rate_per_hour',
    env: 'TIDEMARK_QUERY_RATE_PER_HOUR',
    flag: '--query-rate-per-hour <number>',
    read: wholeNumber(0, 10_000_000),
    fallback: '0',
    help: 'queries one personal API key may ask in an hour, on average; 0 for no limit',
  },
  {
    key: 'snapshot_rows',
    env: 'TIDEMARK_SNAPSHOT_ROWS',
    flag: '--snapshot-rows <rows>',
    read: wholeNumber(1, 100_000_000),
    fallback: '200000',
    help: 'events in the log that make the server write a snapshot file',
  },
  {
    key: 'snapshot_age_s',
    env: 'TIDEMARK_SNAPSHOT_AGE_S',
    flag: '--snapshot-age-s <seconds>',
    read: wholeNumber(1, 30 * 86_400),
    fallback: '600',
    help: 'age of the oldest event in the log that makes the server write a snapshot file',
  },
  {
    key: 'retention_months',
    env: 'TIDEMARK_RETENTION_MONTHS',
    flag: '--retention-months <months>',
    read: wholeNumber(0, 1200),
    fallback: '0',
    help: 'whole months for which projects keep events, unless "project retention" says otherwise; 0 for ever',
  },
  ...CLICKHOUSE_SETTINGS,
  ...EDGE_SETTINGS,
  ...STANDBY_SETTINGS,
  ...TRACE_SETTINGS,
  ...BACKUP_SETTINGS,
  {
    key: 'bootstrap_api_token',
    env: 'TIDEMARK_BOOTSTRAP_API_TOKEN',
    flag: null,
    read: readProjectToken,
    fallback: '',
    help: "the first project's key, for unattended installs; used on an empty data folder only",
  },
  {
    key: 'bootstrap_personal_api_key',
    env: 'TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY',
    flag: null,
    read: readPersonalKey,
    fallback: '',
    help: "the owner's personal API key of at least 20 characters, for unattended installs; used on an empty data folder only",
  },
  {
    key: 'bootstrap_owner_email',
    env: 'TIDEMARK_BOOTSTRAP_OWNER_EMAIL',
    flag: null,
    read: readEmailOrNothing,
    fallback: '',
    help: "the owner's address to log in with, for unattended installs; used while nobody has a password",
  },
  {
    key: 'bootstrap_owner_password',
    env: 'TIDEMARK_BOOTSTRAP_OWNER_PASSWORD',
    flag: null,
    read: readPasswordOrNothing,
    fallback: '',
    help: "the owner's password of at least 10 characters, for unattended installs; used while nobody has a password",
  },
] as const satisfies readonly SettingDefinition[]

type ParsedSetting<S> = S extends { readonly read: (text: string) => SettingValue<infer T> }
  ? T
  : never

/** The parsed settings. */
export type Config = { readonly [S in (typeof SETTINGS)[number] as S['key']]: ParsedSetting<S> }

/** Texts of the command line by the setting's key. They take precedence over the environment. */
export type Flags = Readonly<Record<string, string | undefined>>

type Environment = Readonly<Record<string, string | undefined>>

/** One or more settings are invalid; `message` has a line for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Reads and checks every setting. Throws a `ConfigError` with all invalid ones and the reasons. */
export function readConfig(flags: Flags = {}, env: Environment = process.env): Config {
  const config = readSettings(SETTINGS, flags, env) as Config
  requireOutside(config, 'TIDEMARK_BACKUP_TO')
  return config
}

/** Throws for a store of backups in the data folder, where a server deletes unknown files. `name` is the setting's. */
export function requireOutside(
  { backup_to, data_dir }: Pick<Config, 'backup_to' | 'data_dir'>,
  name: string,
): void {
  if (backup_to?.kind !== 'folder') return
  const { folder } = backup_to
  if (folder !== data_dir && !folder.startsWith(`${data_dir}/`)) return
  throw new ConfigError(`${name} must name a store outside of the data folder ${data_dir}`)
}

/** The settings of backups that are kept elsewhere. */
export type BackupConfig = Pick<Config, (typeof BACKUP_SETTINGS)[number]['key']>

/** Reads only the settings of backups, for the commands of backups. Throws a `ConfigError`. */
export function readBackupConfig(flags: Flags, env: Environment = process.env): BackupConfig {
  return readSettings(BACKUP_SETTINGS, flags, env) as BackupConfig
}

function readSettings(
  settings: readonly SettingDefinition[],
  flags: Flags,
  env: Environment,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  const faults: string[] = []
  for (const setting of settings) {
    const given = sourceOf(setting, flags, env)
    const reading = setting.read(given.text)
    if ('value' in reading) values[setting.key] = reading.value
    else faults.push(`${given.name} ${reading.reason}`)
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return values
}

/** Reads only the setting of the data folder, for commands that need nothing else. Throws a `ConfigError`. */
export function readDataDir(flag: string | undefined, env: Environment = process.env): string {
  const text = flag ?? (env['TIDEMARK_DATA_DIR']?.trim() || './data')
  const reading = readFolder(text)
  if ('reason' in reading) throw new ConfigError(`--data-dir ${reading.reason}`)
  requireReadable(reading.value)
  return reading.value
}

/** Throws for a folder of another user, in which every file would seem to be missing. */
function requireReadable(folder: string): void {
  try {
    accessSync(folder, constants.R_OK)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) return
    throw new ConfigError(
      `${folder} is closed to this user: run the command as the one that serves`,
    )
  }
}

/** TIDEMARK_ variables without a setting, most likely misspelt. */
export function listUnknownVariables(env: Environment = process.env): readonly string[] {
  const known = new Set<string>(SETTINGS.map((setting) => setting.env))
  return Object.keys(env).filter((name) => name.startsWith('TIDEMARK_') && !known.has(name))
}

function sourceOf(setting: SettingDefinition, flags: Flags, env: Environment) {
  const flag = setting.flag === null ? undefined : flags[setting.key]
  if (flag !== undefined) return { name: setting.flag?.split(' ')[0] ?? setting.env, text: flag }
  // `NAME=` in a compose file sets an empty variable: it counts as missing.
  for (const name of [setting.env, setting.env_else ?? setting.env]) {
    const text = env[name]?.trim()
    if (text !== undefined && text !== '') return { name, text }
  }
  return { name: setting.env, text: setting.fallback }
}
