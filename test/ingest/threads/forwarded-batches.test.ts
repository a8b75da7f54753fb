/** Batches of edges on the data thread: none of them holds it until its end. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ForwardedBatches } from '../../../src/ingest/threads/forwarded-batches.ts'
import { CAPTURE_LIMITS, type ForwardedOutcome } from '../../../src/ingest/threads/messages.ts'
import { openStores } from '../../../src/ingest/write/apply.ts'

test('a batch of entries that are stored already is skipped in slices', () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-forwarded-'))
  const stores = openStores(data_dir)
  const outcomes: ForwardedOutcome[] = []
  const batches = new ForwardedBatches({
    stores,
    limits: { ...CAPTURE_LIMITS, slice_ms_max: 0 },
    isDeleted: () => false,
    recover: () => null,
    answer: (_call, outcome) => outcomes.push(outcome),
    fail: (_call, error) => {
      throw error
    },
  })
  batches.receive(1, {
    user_id: 1,
    edge: 'e0'.repeat(16),
    epoch: 'a1'.repeat(16),
    entries: new TextEncoder().encode('0 \n\n'.repeat(10_000)),
    after: null,
    allowed: [1],
    forbidden: [],
    report: '{}',
    now: Date.UTC(2026, 10, 23) * 1000,
  })
  let turns = 0
  for (; outcomes.length === 0; turns += 1) batches.turn()
  expect(turns).toBeGreaterThan(10)
  expect(outcomes).toEqual([{ kind: 'forwarded', seq: 0, accepted: 0, repeated: 0, dropped: 0 }])
  stores.log.close()
  rmSync(data_dir, { recursive: true, force: true })
})
