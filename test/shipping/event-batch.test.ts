/** The batch of events for ClickHouse: hot properties as columns, the others as texts that lose no digit. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { restPath } from '../../src/column-names.ts'
import { writeEventBatch } from '../../src/shipping/writer/event-batch.ts'
import { LOG } from '../../src/storage/files/replication-sources.ts'

test.each([
  ['{}', {}, null],
  ['{"$browser":"Chrome"}', {}, 'Chrome'],
  ['{"$browser":17,"$os":null}', {}, '17'],
  ['{"$browser":{"a":1}}', {}, '{"a":1}'],
  ['{"plan":"pro","a.b":1,"x~":null,"ö\\"":true}', { plan: 'pro', 'a.b': '1', 'ö"': 'true' }, null],
  [
    '{"n":12345678901234567890123,"m":9007199254740993,"f":1e400,"d":0.1,"i":-5}',
    {
      n: '12345678901234567890123',
      m: '9007199254740993',
      f: '1e400',
      d: '0.1',
      i: '-5',
    },
    null,
  ],
  [
    '{"o":{"$os":null,"a":[1,null,"x"]},"l":[],"e":"","t":"\\"q\\" \\\\ \\n"}',
    { o: '{"$os":null,"a":[1,null,"x"]}', l: '[]', e: '', t: '"q" \\ \n' },
    null,
  ],
])('has %s as texts', async (properties, rest, browser) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-batch-'))
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  await connection.run(LOG.create)
  await connection.run(
    "insert into log by name select 7 as seq, 1 as project_id, timestamp '0001-01-01' as timestamp, timestamp '2024-03-01' as created_at, $1 as properties",
    [properties],
  )
  const path = join(folder, 'batch.parquet')
  const written = await writeEventBatch(connection, {
    source: 'log',
    log_id: 'l',
    path,
    fault: null,
  })
  expect(written).toMatchObject({ row_count: 1, last_seq: 7 })
  const reader = await connection.runAndReadAll(
    `select rest, h__browser, properties, year(timestamp)::varchar, log_id from read_parquet('${path}')`,
  )
  const [row = []] = reader.getRows()
  expect(JSON.parse(String(row[0]))).toEqual(
    Object.fromEntries(Object.entries(rest).map(([name, value]) => [restPath(name), value])),
  )
  expect(row.slice(1)).toEqual([browser, properties, '1900', 'l'])
  connection.closeSync()
  instance.closeSync()
  rmSync(folder, { recursive: true })
})
