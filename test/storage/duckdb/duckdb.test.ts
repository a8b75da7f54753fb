/** Tests what every connection of a locked instance has. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockInstance, openInstance } from '../../../src/storage/duckdb/duckdb.ts'

test('a locked instance remembers what footers say, whichever connection reads', async () => {
  const spill_dir = mkdtempSync(join(tmpdir(), 'tidemark-duckdb-'))
  const instance = await openInstance({ memory_mb: 64, threads: 1, spill_dir })
  const locking = await instance.connect()
  const before = await instance.connect()
  await lockInstance(locking, [], '/nowhere')
  const after = await instance.connect()
  const answers: unknown[] = []
  for (const connection of [locking, before, after]) {
    const reader = await connection.runAndReadAll(
      "select current_setting('parquet_metadata_cache') as remembered",
    )
    answers.push(reader.getRowsJson())
    connection.closeSync()
  }
  instance.closeSync()
  rmSync(spill_dir, { recursive: true })
  expect(answers).toEqual([[[true]], [[true]], [[true]]])
})
