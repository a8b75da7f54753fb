/** The settings of the query endpoint as a service: cache, background questions, exports, and limits per key. */
import { wholeNumber } from './readings.ts'

export const QUESTION_SETTINGS = [
  {
    key: 'query_cache_mb',
    env: 'TIDEMARK_QUERY_CACHE_MB',
    flag: '--query-cache-mb <megabytes>',
    read: wholeNumber(1, 1024 * 1024),
    fallback: '256',
    help: 'answers kept to be given again, and as much for results of background questions',
  },
  {
    key: 'query_spill_mb',
    env: 'TIDEMARK_QUERY_SPILL_MB',
    flag: '--query-spill-mb <megabytes>',
    read: wholeNumber(16, 1024 * 1024),
    fallback: '10240',
    help: 'disk that questions which do not fit into memory may use together; the last gigabyte is never theirs',
  },
  {
    key: 'query_background_timeout_s',
    env: 'TIDEMARK_QUERY_BACKGROUND_TIMEOUT_S',
    flag: '--query-background-timeout-s <seconds>',
    read: wholeNumber(1, 24 * 3600),
    fallback: '600',
    help: 'time a question may take in the background, and an export as a whole',
  },
  {
    key: 'queries_background_max',
    env: 'TIDEMARK_QUERIES_BACKGROUND_MAX',
    flag: '--queries-background-max <number>',
    read: wholeNumber(0, 100_000),
    fallback: '1000',
    help: 'background questions that may wait for their turn; further ones are answered 429',
  },
  {
    key: 'export_rows_max',
    env: 'TIDEMARK_EXPORT_ROWS_MAX',
    flag: '--export-rows-max <rows>',
    read: wholeNumber(1, 1_000_000_000),
    fallback: '1000000',
    help: 'largest answer in rows as CSV, NDJSON, Arrow or Parquet',
  },
  {
    key: 'queries_per_key_max',
    env: 'TIDEMARK_QUERIES_PER_KEY_MAX',
    flag: '--queries-per-key-max <number>',
    read: wholeNumber(0, 10_000),
    fallback: '0',
    help: 'questions one personal API key may have answered at the same time; 0 for no limit',
  },
  {
    key: 'query_rate_per_minute',
    env: 'TIDEMARK_QUERY_RATE_PER_MINUTE',
    flag: '--query-rate-per-minute <number>',
    read: wholeNumber(0, 1_000_000),
    fallback: '0',
    help: 'questions one personal API key may ask in a minute, on average; 0 for no limit',
  },
  {
    key: 'query_rate_per_hour',
    env: 'TIDEMARK_QUERY_RATE_PER_HOUR',
    flag: '--query-rate-per-hour <number>',
    read: wholeNumber(0, 10_000_000),
    fallback: '0',
    help: 'questions one personal API key may ask in an hour, on average; 0 for no limit',
  },
] as const
