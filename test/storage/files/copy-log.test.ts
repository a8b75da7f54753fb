/** A range of the log is copied whole, with the texts of each event together. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { copyLog } from '../../../src/storage/files/copy-log.ts'
import { EventLog, NO_GROUPS } from '../../../src/storage/log/event-log.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-copy-log-'))
const log = new EventLog(folder)
afterAll(() => {
  log.close()
  rmSync(folder, { recursive: true, force: true })
})

const TEXTS = ['', 'a\u001fb', '"\\\n', 'ä€😀', 'z'.repeat(5000)]
const EVENTS = Array.from({ length: 5000 }, (_, index) => ({
  event: `event ${index}`,
  distinct_id: `${index} ${TEXTS[index % TEXTS.length]}`,
  properties: JSON.stringify({ text: TEXTS[index % 4], index }),
}))

test('a range of the log has the texts of each event together, up to the length asked for', async () => {
  log.transact(() => {
    for (const { event, distinct_id, properties } of EVENTS) {
      log.append({
        project_id: 1,
        uuid: Bun.randomUUIDv7('buffer'),
        event,
        distinct_id,
        person_id: Bun.randomUUIDv7('buffer'),
        person_mode: 'full',
        timestamp: 1_800_000_000_000_000,
        created_at: 1_800_000_000_000_000,
        properties,
        elements_chain: '',
        groups: NO_GROUPS,
      })
    }
  })
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const copied = async (range: { after: number; up_to: number; length_max: number }) => {
    const reached = await copyLog(log.db, connection, range)
    const rows = await connection.runAndReadAll(
      'select event, distinct_id, properties from log order by seq',
    )
    return { reached, rows: rows.getRowObjectsJS() }
  }
  expect(await copied({ after: 0, up_to: 5000, length_max: 1e9 })).toEqual({
    reached: 5000,
    rows: EVENTS,
  })
  const { reached, rows } = await copied({ after: 100, up_to: 5000, length_max: 1 })
  expect(reached).toBeLessThan(5000)
  expect(rows).toEqual(EVENTS.slice(100, reached))
})
