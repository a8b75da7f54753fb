/** A ledger of what was sent and what was answered: batches with fixed uuids, sent until each has its 200, and an independent tally of them. */
import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type SentEvent, seeded, someEvent } from '../../bench/events.ts'
import { API_TOKEN } from '../processes/server.ts'

export type LedgerEvent = SentEvent & { readonly uuid: string }

export type Batch = { readonly events: readonly LedgerEvent[]; answered: boolean }

const BATCH_SIZE = 100
/** The time of refusals with 503 after which a server counts as one that stores no more; until then clients send again. */
const REFUSED_MS_MAX = 60_000
const REFUSED_AGAIN_MS = 50

/** So many batches of a hundred events each, the same ones for the same seed. */
export function makeBatches(seed: number, count: number): readonly Batch[] {
  const random = seeded(seed)
  const uuid = (): string => {
    const hex = Array.from({ length: 8 }, () =>
      Math.floor(random() * 65_536)
        .toString(16)
        .padStart(4, '0'),
    ).join('')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
  }
  return Array.from({ length: count }, () => ({
    events: Array.from({ length: BATCH_SIZE }, () => ({
      uuid: uuid(),
      ...someEvent(random, 5000),
    })),
    answered: false,
  }))
}

/**
 * Sends the batches that have no answer yet over a number of connections, until all are answered or the
 * server stops answering. A batch counts as answered only when its 200 arrived whole.
 */
export async function sendBatches(
  url: string,
  batches: readonly Batch[],
  connections: number,
): Promise<void> {
  const waiting = batches.filter((batch) => !batch.answered)
  let next = 0
  const sendBatch = async ({ events }: Batch): Promise<void> => {
    const deadline_ms = Date.now() + REFUSED_MS_MAX
    for (;;) {
      const answer = await fetch(`${url}/batch/`, {
        method: 'POST',
        body: JSON.stringify({ api_key: API_TOKEN, batch: events }),
      })
      const body = await answer.json()
      if (answer.status === 200) return
      const refused = `a batch was refused: ${answer.status} ${JSON.stringify(body)}`
      if (answer.status !== 503 || Date.now() > deadline_ms) throw new Error(refused)
      const { bavail, bsize } = statfsSync(tmpdir())
      console.warn(`${refused}; it is sent again, with ${bavail * bsize} bytes free on the disk`)
      await Bun.sleep(REFUSED_AGAIN_MS)
    }
  }
  const sendOneByOne = async (): Promise<void> => {
    for (let batch = waiting[next++]; batch !== undefined; batch = waiting[next++]) {
      await sendBatch(batch)
      batch.answered = true
    }
  }
  const connectionErrors: unknown[] = []
  await Promise.all(
    Array.from({ length: connections }, () =>
      sendOneByOne().catch((error: unknown) => {
        if (error instanceof Error && error.message.startsWith('a batch was refused')) throw error
        connectionErrors.push(error)
      }),
    ),
  )
}

/** Counts by any key, in the order of the keys, as rows that HogQL would answer. */
export function tally(
  batches: readonly Batch[],
  key: (event: LedgerEvent) => string,
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const { events } of batches) {
    for (const event of events) counts.set(key(event), (counts.get(key(event)) ?? 0) + 1)
  }
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))
}
