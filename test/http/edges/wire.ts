/** Batches of an edge as `edge/README.md` describes them, written by hand: not by the code that edges send with. */
import { zstdCompressSync } from 'node:zlib'
import type { EdgeReport } from '../../../src/edge/report.ts'

export const EDGE = 'e0'.repeat(16)
export const EPOCH = 'a1'.repeat(16)

export const REPORT: EdgeReport = {
  name: 'rome-1',
  wire: 1,
  backlog_entries: 0,
  backlog_events: 0,
  backlog_bytes: 0,
  lag_s: 0,
  definitions_age_s: null,
  clock_ms: Date.UTC(2026, 10, 23),
  projects: [1],
}

export type WireEvent = {
  readonly uuid?: string
  readonly event: string
  readonly distinct_id: string
  readonly timestamp?: number
  readonly properties?: object
}

/** Received an hour before the time of the tests, µs. */
export const RECEIVED_AT = Date.UTC(2026, 10, 23, 7) * 1000

const head = ({ uuid, event, distinct_id, timestamp = RECEIVED_AT }: WireEvent, text: string) => [
  uuid?.replaceAll('-', '') ?? 0,
  event,
  distinct_id,
  timestamp,
  text.length,
  0,
  0,
  0,
]

/** One entry: two lines. */
export function entryOf(seq: number, events: readonly WireEvent[], changes: object = {}): string {
  const texts = events.map(({ properties = {} }) => JSON.stringify(properties))
  const line = {
    project: 1,
    received_at: RECEIVED_AT,
    uuid_base: Bun.randomUUIDv7('hex').replaceAll('-', ''),
    rest: {
      dropped: [],
      warnings: [],
      names: { events: events.map(({ event }) => event), properties: {} },
    },
    events: events.map((event, index) => head(event, texts[index] ?? '')),
    ...changes,
  }
  return `${seq} ${JSON.stringify(line)}\n${texts.join('')}\n`
}

/** The request that sends entries. */
export function batchRequest(
  key: string,
  text: string,
  changes: Readonly<Record<string, string>> = {},
): RequestInit {
  const body = zstdCompressSync(text)
  return {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Encoding': 'zstd',
      'Tidemark-Edge': EDGE,
      'Tidemark-Epoch': EPOCH,
      'Tidemark-Digest': new Bun.CryptoHasher('sha256').update(body).digest('hex'),
      'Tidemark-Report': JSON.stringify(REPORT),
      ...changes,
    },
    body,
  }
}
