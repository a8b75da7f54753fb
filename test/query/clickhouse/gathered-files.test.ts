/** Rows that are gathered on this machine's disk, from a server that does not end. */
import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_READS } from '../../../src/hogql/query-reads.ts'
import { GatherSpill, gatherFiles } from '../../../src/query/clickhouse/gathered-files.ts'
import { gatheredFolder } from '../../../src/storage/files/parquet.ts'
import { rejectionOf } from '../../rejection.ts'

const MIB = 1024 * 1024
const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-gathered-'))
afterAll(() => rmSync(data_dir, { recursive: true, force: true }))

const query = {
  project_id: 1,
  sql: 'select 1',
  values: [],
  types: ['UInt64'],
  reads: NO_READS,
  timezone: 'UTC',
  rows_max: 100,
  more_is_too_many: false,
  gathers: [{ sql: 'select 1', values: [] }],
}

/** A file of a number of megabytes. */
const fileOf = (megabytes: number): Response => {
  let sent = 0
  return new Response(
    new ReadableStream({
      pull(controller) {
        sent += 1
        if (sent > megabytes) controller.close()
        else controller.enqueue(new Uint8Array(MIB))
      },
    }),
  )
}

test('rows beyond the disk of all queries are refused and leave nothing, those of others are gathered', async () => {
  const spill = new GatherSpill({ data_dir, spill_mb: 10 })
  const gather = (megabytes: number) =>
    gatherFiles(query, { data_dir, spill }, (_, write) => write(fileOf(megabytes)))
  const first = await gather(6)
  expect(await rejectionOf(gather(6))).toMatchObject({ code: 'query_too_large' })
  expect(readdirSync(gatheredFolder(data_dir, 1)).length).toBe(1)
  first.remove()
  const second = await gather(6)
  second.remove()
  expect(existsSync(gatheredFolder(data_dir, 1))).toBe(true)
  expect(readdirSync(gatheredFolder(data_dir, 1))).toEqual([])
})
