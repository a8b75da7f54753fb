/** Own columns in shorter forms: every uuid and every time comes back, however far from the event's time it is. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import * as fc from 'fast-check'
import { openInstance } from '../../../src/storage/duckdb/duckdb.ts'
import {
  type ColumnEncoding,
  chooseEncodings,
  ENCODINGS_APPLY,
  keepEncoded,
  readEncoded,
  readEncodings,
  writeEncodings,
} from '../../../src/storage/files/column-encodings.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'

limitTests(240_000)

type Row = readonly [uuid: string, timestamp_us: bigint, created_us: bigint]

const NOW_US = 1_772_323_200_000_000n
/** The first and the last microsecond that the engine has, and the borders of what fits. */
const ODD_TIMES = [0n, -1n, 1n, 999n, -1001n, NOW_US, 9_223_371_331_200_000_000n, -(2n ** 62n)]

const timed = (ms: bigint, chance: bigint): string => {
  const hex = (((ms & (2n ** 48n - 1n)) << 80n) | (7n << 76n) | chance)
    .toString(16)
    .padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
const near = fc.bigInt({ min: NOW_US - 10n ** 13n, max: NOW_US + 10n ** 13n })
const time = fc.oneof(near, near, fc.constantFrom(...ODD_TIMES))
const wholeTime = near.map((us) => us - (us % 1000n))
const chance = fc.bigInt({ min: 0n, max: 2n ** 76n - 1n })
const uuid = fc.oneof(
  fc.uuid(),
  fc.tuple(near, chance).map(([us, rest]) => timed(us / 1000n, rest)),
  fc
    .tuple(fc.bigInt({ min: 0n, max: 2n ** 48n - 1n }), chance)
    .map(([ms, rest]) => timed(ms, rest)),
  fc.constantFrom('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-7fff-ffff-ffffffffffff'),
)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-own-'))
let connection: DuckDBConnection

beforeAll(async () => {
  const instance = await openInstance({ memory_mb: 256, threads: 1, spill_dir: folder })
  connection = await instance.connect()
})
afterAll(() => {
  connection.closeSync()
  rmSync(folder, { recursive: true, force: true })
})

async function load(rows: readonly Row[]): Promise<void> {
  await connection.run(
    'create or replace table sent (uuid uuid, "timestamp" timestamp, created_at timestamp)',
  )
  const values = rows.map(
    ([id, at, created]) =>
      `('${id}'::uuid, make_timestamp(${at}::bigint), make_timestamp(${created}::bigint))`,
  )
  await connection.run(`insert into sent values ${values.join(', ')}`)
}

async function serving(): Promise<readonly ColumnEncoding[]> {
  const reader = await connection.runAndReadAll(`select ${ENCODINGS_APPLY.join(', ')} from sent`)
  return chooseEncodings(reader.getRows()[0] ?? [])
}

/** How many rows come back as something else, through a file with these forms. */
async function lost(forms: readonly ColumnEncoding[]): Promise<number> {
  const { columns, kept } = keepEncoded(forms)
  const path = join(folder, 'kept.parquet')
  const exclude = columns.length === 0 ? '' : ` exclude (${columns.join(', ')})`
  await connection.run(
    `copy (select ${[`*${exclude}`, ...kept].join(', ')} from (select row_number() over () as n, * from sent))
to '${path}' (format parquet, parquet_version v2)`,
  )
  const own = ['uuid', 'timestamp', 'created_at'].map((name) => readEncoded(forms, name)).join(', ')
  const reader = await connection.runAndReadAll(`
select count(*) from (select row_number() over () as n, * from sent) as sent
left join (select n, ${own} from '${path}') as read using (n)
where (sent.uuid, sent."timestamp", sent.created_at) is distinct from (read.uuid, read."timestamp", read.created_at)`)
  return Number(reader.getRows()[0]?.[0])
}

test('come back as they were, in whatever forms serve', async () => {
  const whole = fc.record({ at: wholeTime, created: wholeTime })
  const any = fc.record({ at: time, created: time })
  const rows = fc.oneof(
    fc.array(fc.tuple(uuid, any), { minLength: 1, maxLength: 80 }),
    fc.array(fc.tuple(uuid, whole), { minLength: 1, maxLength: 80 }),
  )
  const seen = new Set<ColumnEncoding>()
  await fc.assert(
    fc.asyncProperty(rows, async (all) => {
      await load(all.map(([id, { at, created }]) => [id, at, created]))
      const forms = await serving()
      for (const form of forms) seen.add(form)
      expect(await lost(forms)).toBe(0)
      // A uuid may be in parts whichever the others are.
      expect(await lost(['uuid_in_parts'])).toBe(0)
      expect(readEncodings(writeEncodings(forms))).toEqual(forms)
    }),
    {
      ...randomRuns(4),
      examples: [[[[timed(NOW_US / 1000n, 1n), { at: NOW_US, created: NOW_US + 7n }]]]],
    },
  )
  expect([...seen].toSorted()).toEqual(['created_after_ms', 'created_after_us', 'uuid_in_parts'])
})

test('are chosen for what is usual, and left as they are where they save nothing', async () => {
  const usual = timed(NOW_US / 1000n, 5n)
  await load([[usual, NOW_US, NOW_US + 1000n]])
  expect(await serving()).toEqual(['created_after_ms', 'uuid_in_parts'])
  const random = 'cf6a1d2c-4b1e-4a57-9f0e-3d1c2b4a5968'
  await load([
    [random, NOW_US, NOW_US],
    [random, NOW_US + 1n, NOW_US],
  ])
  expect(await serving()).toEqual(['created_after_us'])
  await load([[random, -(2n ** 62n) * 2n + 10n ** 15n, 9_223_371_331_200_000_000n]])
  expect(await serving()).toEqual([])
})

test('hold nothing of a uuid twice', async () => {
  await load([[timed(NOW_US / 1000n + 3n, 5n), NOW_US, NOW_US]])
  const { kept } = keepEncoded(['uuid_in_parts'])
  const reader = await connection.runAndReadAll(`select ${kept.join(', ')} from sent`)
  expect(reader.getRows()).toEqual([[null, 3n * 4096n, 5n]])
})

test('of files from before there were any are none', () => {
  expect(readEncodings('')).toEqual([])
  expect(readEncoded(readEncodings(''), 'uuid')).toBe('"uuid"')
})
