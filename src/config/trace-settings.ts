/** Settings of traces (`threads/README.md`). */
import { readUrlOrNothing, wholeNumber } from './readings.ts'

/** Part of SETTINGS. */
export const TRACE_SETTINGS = [
  {
    key: 'traces_to',
    env: 'TIDEMARK_TRACES_TO',
    flag: '--traces-to <url>',
    read: readUrlOrNothing,
    fallback: '',
    help: 'an OpenTelemetry collector that gets traces of requests and queries (OTLP over HTTP), as http://127.0.0.1:4318; default: none',
  },
  {
    key: 'traces_percent',
    env: 'TIDEMARK_TRACES_PERCENT',
    flag: '--traces-percent <number>',
    read: wholeNumber(0, 100),
    fallback: '100',
    help: 'requests that are traced, of those without a traceparent header; that header decides for the others',
  },
] as const
