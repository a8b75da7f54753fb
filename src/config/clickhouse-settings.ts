/** Settings of events that are kept in ClickHouse (`shipping/README.md`). */
import {
  readUrlOrNothing,
  readWord,
  readWordOrNothing,
  type SettingValue,
  wholeNumber,
} from './readings.ts'

/** Part of SETTINGS. */
export const CLICKHOUSE_SETTINGS = [
  {
    key: 'clickhouse_url',
    env: 'TIDEMARK_CLICKHOUSE_URL',
    flag: '--clickhouse-url <url>',
    read: readUrls,
    fallback: '',
    help: 'address of the HTTP interface of a ClickHouse that holds the events and answers queries; for shards without copies one of each, comma-separated',
  },
  {
    key: 'clickhouse_database',
    env: 'TIDEMARK_CLICKHOUSE_DATABASE',
    flag: '--clickhouse-database <name>',
    read: readName,
    fallback: 'tidemark',
    help: 'database there, which must exist',
  },
  {
    key: 'clickhouse_cluster',
    env: 'TIDEMARK_CLICKHOUSE_CLUSTER',
    flag: '--clickhouse-cluster <name>',
    read: readNameOrNothing,
    fallback: '',
    help: 'cluster of ClickHouse over whose shards events are spread by person; none for one server',
  },
  {
    key: 'clickhouse_user',
    env: 'TIDEMARK_CLICKHOUSE_USER',
    flag: '--clickhouse-user <name>',
    read: readWord,
    fallback: 'tidemark',
    help: 'user that makes and fills the tables there',
  },
  {
    key: 'clickhouse_password',
    env: 'TIDEMARK_CLICKHOUSE_PASSWORD',
    flag: null,
    read: readWordOrNothing,
    fallback: '',
    help: 'its password',
  },
  {
    key: 'clickhouse_read_user',
    env: 'TIDEMARK_CLICKHOUSE_READ_USER',
    flag: '--clickhouse-read-user <name>',
    read: readWord,
    fallback: 'tidemark_questions',
    help: 'user as which queries are asked there: it may SELECT from the database, and nothing else',
  },
  {
    key: 'clickhouse_read_password',
    env: 'TIDEMARK_CLICKHOUSE_READ_PASSWORD',
    flag: null,
    read: readWordOrNothing,
    fallback: '',
    help: 'its password',
  },
  {
    key: 'clickhouse_stale_s',
    env: 'TIDEMARK_CLICKHOUSE_STALE_S',
    flag: '--clickhouse-stale-s <seconds>',
    read: wholeNumber(0, 86_400),
    fallback: '0',
    help: 'seconds that an answer may be behind; with 0 a query waits until what was captured before it is there',
  },
  {
    key: 'project_id_min',
    env: 'TIDEMARK_PROJECT_ID_MIN',
    flag: '--project-id-min <number>',
    read: wholeNumber(1, 4_000_000_000),
    fallback: '1',
    help: 'number from which projects made here are counted; servers that share a ClickHouse claim theirs there',
  },
] as const

const SHARDS_MAX = 1000

/** Addresses, comma-separated; none for an empty text. */
function readUrls(text: string): SettingValue<readonly string[]> {
  const urls: string[] = []
  for (const part of text.split(',').slice(0, SHARDS_MAX)) {
    const reading = readUrlOrNothing(part.trim())
    if ('reason' in reading) return reading
    if (reading.value !== null) urls.push(reading.value)
  }
  return { value: urls }
}

/** A name that can be printed into SQL. */
function readName(text: string): SettingValue<string> {
  if (/^[A-Za-z_]\w{0,63}$/.test(text)) return { value: text }
  return { reason: 'must be 1 to 64 letters, digits and underscores' }
}

function readNameOrNothing(text: string): SettingValue<string | null> {
  return text === '' ? { value: null } : readName(text)
}
