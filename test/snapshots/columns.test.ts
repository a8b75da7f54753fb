/** Property columns: a query has the same answer whether a property is in a column or in JSON, whatever it holds. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { compileHogQL } from '../../src/hogql/compile.ts'
import type { KnownPropertyType } from '../../src/hogql/context.ts'
import type { QueryEngine } from '../../src/query/engine/engine.ts'
import { listAllFiles } from '../../src/storage/files/manifest.ts'
import { readColumns } from '../../src/storage/files/property-columns.ts'
import { limitTests } from '../long-tests.ts'
import { MARCH_US, World } from '../query/world.ts'
import { randomRuns } from '../random-runs.ts'
import { createJob } from './snapshot-world.ts'

limitTests(180_000)

const TYPES: ReadonlyMap<string, KnownPropertyType> = new Map([
  ['event:num', 'Numeric'],
  ['event:flag', 'Boolean'],
  ['event:when', 'DateTime'],
  ['event:text', 'String'],
])

/** The same properties after their types were changed, each to every other. */
const RETYPED: readonly ReadonlyMap<string, KnownPropertyType>[] = [1, 2, 3].map((turn) => {
  const types = [...TYPES.values()]
  return new Map(
    [...TYPES.keys()].map((name, index) => [
      name,
      types[(index + turn) % types.length] ?? 'String',
    ]),
  )
})

/** Every way a property is read, over every event. */
const QUERIES = [
  'select seq_of, properties.num, properties.flag, properties.when, properties.text from EVENTS',
  "select seq_of, properties.Text, properties.deep, properties.deep.a, properties['~/\"'] from EVENTS",
  'select seq_of, toString(properties.num), toFloatOrZero(properties.num), properties from EVENTS',
  "select seq_of, JSONExtractString(properties, 'text'), JSONExtractFloat(properties, 'num'), JSONHas(properties, 'flag') from EVENTS",
  "select seq_of, JSONExtractRaw(properties, 'num'), JSONType(properties, 'when'), JSONLength(properties, 'deep', 'a') from EVENTS",
  "select seq_of, JSONExtract(properties, 'deep', 'Array(String)'), JSONExtractKeys(properties, 'deep'), JSONExtractBool(properties, '~/\"') from EVENTS",
  "select seq_of, JSONExtractRaw(properties, 'rare'), JSONHas(properties, 'Text', 'x'), JSONExtractRaw(properties, 'text') from EVENTS",
  'select seq_of, properties from events order by distinct_id limit 7 offset 5',
  'select e.distinct_id, e.properties from events e left join persons p on p.id = e.person_id where e.properties.num is not null order by e.distinct_id desc limit 9',
  'select * from (select distinct_id, properties from events order by distinct_id limit 3) order by distinct_id',
  'select seq_of from EVENTS where properties.num > 5',
  'select seq_of from EVENTS where properties.num = 0',
  'select seq_of from EVENTS where properties.num is null',
  'select seq_of from EVENTS where properties.flag',
  'select seq_of from EVENTS where not properties.flag',
  "select seq_of from EVENTS where properties.text = ''",
  "select seq_of from EVENTS where properties.text != 'true'",
  "select seq_of from EVENTS where properties.when > '2024-01-01'",
  'select properties.text as t, count() as n, sum(properties.num) as s from events group by t order by n desc, t',
  'select properties.flag as f, max(properties.num), uniq(properties.Text) from events group by f order by f',
  'select min(properties.num), maxIf(properties.num, properties.num < 1e6), quantileExact(0.9)(properties.num) from events',
  'select countIf(properties.num >= 1), countIf(properties.num = 1.5), countIf(properties.num != 12) from events',
  'select a.distinct_id, b.properties.text from events a join events b on a.distinct_id = b.distinct_id order by 1, 2',
  'select t, count() from (select properties.text as t, properties as p from events) group by t order by 1',
  'select distinct_id, p.num from (select distinct_id, properties as p from events) order by 1, 2',
].map((text) =>
  text.replace('seq_of', 'distinct_id').replace(/EVENTS(.*)$/, 'events$1 order by distinct_id'),
)

/** Every way a number is read that may be an integer in some files, beside others. */
const OF_NUMBERS = [
  'select min(properties.num), max(properties.num), sum(properties.num) from events',
  'select avg(properties.num), quantileExact(0.5)(properties.num), quantile(0.3)(properties.num) from events',
  'select sumIf(properties.num, properties.num > 6), countIf(properties.num = 12), countIf(properties.num < 1.7) from events',
  'select min(properties.num) / 4, max(properties.num) * max(properties.num) * 1000000, toString(sum(properties.num)) from events',
  'select distinct_id, properties.num / 2, sum(properties.num) over (order by distinct_id), properties from events order by distinct_id',
  'select distinct_id, toString(properties.num), properties.num from events where properties.num >= 5 order by properties.num, distinct_id',
  'select count(), sum(properties.num) from events where properties.num != 5.0 and properties.num <= 120.5',
  'select properties.num as n, count() from events where n > 2 group by n having n != 5 order by n',
  "select countIf(properties.num > '5.5'), countIf(properties.num = '12'), countIf(properties.num > 1/0), countIf(properties.num != 0/0) from events",
  'select countIf(properties.num < inf), countIf(properties.num = inf), countIf(properties.num >= inf), countIf(properties.num != inf), countIf(inf > properties.num) from events',
  'select count() from events where properties.num >= inf',
  'select countIf(properties.num > 9223372036854775807), countIf(properties.num < 18446744073709551615), countIf(properties.num >= -0.0), countIf(properties.num is not distinct from NULL) from events',
]

function define(world: World): void {
  for (const [key, type] of TYPES) {
    world.log.db.run(
      `insert into property_definitions
       (project_id, kind, group_type_index, name, property_type, first_seen, last_seen, change)
       values (1, 'event', -1, ?, ?, 0, 0, 1)`,
      [key.slice('event:'.length), type],
    )
  }
}

async function askHogQL(
  engine: QueryEngine,
  text: string,
  has_property_columns = false,
  property_types = TYPES,
): Promise<unknown> {
  const compiled = compileHogQL(text, {
    project_id: 1,
    timezone: 'UTC',
    week_start_day: 0,
    hidden_tables: [],
    now_us: BigInt(MARCH_US),
    property_types,
    has_property_columns,
    limits: { rows_default: 50_000, rows_max: 50_000 },
  })
  const answer = await engine.run(
    {
      ...compiled,
      project_id: 1,
      values: compiled.values.map(({ type, value }) => ({
        type,
        text: value === null ? null : String(value),
      })),
      rows_max: 50_000,
      more_is_too_many: true,
    },
    { timeout_ms: 90_000 },
  )
  return JSON.parse(Buffer.from(answer.rows_json).toString())
}

const ALL_TEXTS = [
  '',
  'true',
  'false',
  'null',
  'NaN',
  'inf',
  '-0',
  '1e5',
  ' 7 ',
  '12',
  '"',
  '\u0000x',
]

const VALUE: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -0,
    1,
    5e-324,
    1.7976931348623157e308,
    2 ** 53 + 2,
  ),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(...ALL_TEXTS, '2024-03-01', '2023-05-01T10:00:00Z', '1700000000'),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom<unknown>([], {}, [1, 'a', null], { a: 1 }, { a: { b: 'deep "x"' } }),
)

const PROPERTIES = fc.record(
  {
    num: VALUE,
    flag: VALUE,
    when: VALUE,
    text: VALUE,
    Text: VALUE,
    deep: VALUE,
    '~/"': VALUE,
  },
  { requiredKeys: [] },
)

describe('property columns', () => {
  test('change no answer: in the tail, in files with them, without them, and with fewer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(PROPERTIES, { minLength: 30, maxLength: 60 }), async (all) => {
        await using world = new World()
        define(world)
        const engine = world.openEngine()
        const send = (to: World, from: number, end: number): void =>
          to.send(
            ...all.slice(from, end).map((properties, index) => ({
              distinct_id: `user ${String(from + index).padStart(3, '0')}`,
              properties: JSON.stringify(properties),
            })),
          )
        const third = Math.floor(all.length / 3)
        send(world, 0, all.length)
        const plain: unknown[] = []
        for (const text of QUERIES) plain.push(await askHogQL(engine, text))

        // The same events again: some in a file without columns, some in one with few, some with all, some in the tail.
        await using other = new World()
        define(other)
        const mixed = other.openEngine()
        for (const [round, columns_max] of [0, 3, 60].entries()) {
          send(other, round * third, (round + 1) * third - 3)
          const job = createJob(other, { readers: mixed, columns_max })
          await job.run()
          await job.close()
          send(other, (round + 1) * third - 3, (round + 1) * third)
        }
        send(other, 3 * third, all.length)
        for (const [index, text] of QUERIES.entries()) {
          expect([text, await askHogQL(mixed, text)]).toEqual([text, plain[index]])
          expect([text, await askHogQL(mixed, text, true)]).toEqual([text, plain[index]])
        }

        // What was written with one type is read with every other.
        for (const types of RETYPED) {
          for (const text of QUERIES.slice(0, 3)) {
            const expected = await askHogQL(engine, text, false, types)
            expect([text, await askHogQL(mixed, text, true, types)]).toEqual([text, expected])
          }
        }

        // Put together, all of them have all columns.
        const compaction = { fan_in: 2, bytes_max: 1e9, quiet_us: 0 }
        const job = createJob(other, { readers: mixed, compaction })
        await job.compact()
        await job.close()
        expect(listAllFiles(other.log.db)).toHaveLength(1)
        for (const [index, text] of QUERIES.entries()) {
          expect([text, await askHogQL(mixed, text, true)]).toEqual([text, plain[index]])
        }
      }),
      randomRuns(1),
    )
  })

  test('know one zero: a file that has -0 and 0 would give one of them back for both', async () => {
    await using world = new World()
    define(world)
    const engine = world.openEngine()
    const nums = ['-0', 0, '-0.0', 1, 0]
    world.send(
      ...Array.from({ length: 50 }, (_, index) => ({
        distinct_id: `user ${index + 10}`,
        properties: JSON.stringify({ num: nums[index % nums.length] }),
      })),
    )
    const read = 'select distinct_id, toString(properties.num) from events order by 1'
    const before = await askHogQL(engine, read)
    const zeros = ['0', '0', '0', '1', '0']
    expect(before).toEqual(
      Array.from({ length: 50 }, (_, index) => [`user ${index + 10}`, zeros[index % zeros.length]]),
    )
    const job = createJob(world, { readers: engine })
    await job.run()
    await job.close()
    expect(await askHogQL(engine, read)).toEqual(before)
    expect(await askHogQL(engine, read, true)).toEqual(before)
  })

  test('are integers in a file whose numbers are all whole: no answer changes, whatever the other files have', async () => {
    await using world = new World()
    define(world)
    const engine = world.openEngine()
    const job = createJob(world, { readers: engine })
    const wholes = (): boolean[] =>
      listAllFiles(world.log.db).map((file) =>
        readColumns(file.columns).some(({ name, is_whole }) => name === 'num' && is_whole === true),
      )
    const found: (readonly boolean[])[] = []
    for (const nums of [
      [7, -3, 120],
      [null, 12, 1e14],
      ['text', 5, 0],
      [1.5, 2, 6],
      [1e15, 2, 2, 2, 2, 2],
    ]) {
      world.send(
        ...Array.from({ length: 30 }, (_, index) => ({
          distinct_id: `user ${wholes().length} ${index + 10}`,
          properties: JSON.stringify({ num: nums[index % nums.length] }),
        })),
      )
      const before: unknown[] = []
      for (const text of OF_NUMBERS) before.push(await askHogQL(engine, text))
      await job.run()
      for (const [index, text] of OF_NUMBERS.entries()) {
        expect([text, await askHogQL(engine, text)]).toEqual([text, before[index]])
        expect([text, await askHogQL(engine, text, true)]).toEqual([text, before[index]])
      }
      found.push(wholes())
    }
    await job.close()
    expect(found.at(-1)).toEqual([true, true, true, false, false])

    const expected: unknown[] = []
    for (const text of OF_NUMBERS) expected.push(await askHogQL(engine, text))
    const compaction = { fan_in: 5, bytes_max: 1e9, quiet_us: 0 }
    const compacting = createJob(world, { readers: engine, compaction })
    await compacting.compact()
    await compacting.close()
    expect(wholes()).toEqual([false])
    for (const [index, text] of OF_NUMBERS.entries()) {
      expect([text, await askHogQL(engine, text, true)]).toEqual([text, expected[index]])
    }
  })

  test('are those of frequent properties, typed as defined, and stay the same from file to file', async () => {
    await using world = new World()
    define(world)
    const engine = world.openEngine()
    const send = (count: number, properties: (index: number) => object): void =>
      world.send(
        ...Array.from({ length: count }, (_, index) => ({
          properties: JSON.stringify(properties(index)),
        })),
      )
    const job = createJob(world, { readers: engine, columns_max: 4 })
    send(1000, (index) => ({
      num: index,
      flag: true,
      text: 'x',
      ...(index === 0 ? { rare: 1 } : {}),
    }))
    await job.run()
    const columnsOf = (): unknown[] =>
      listAllFiles(world.log.db).map((file) =>
        readColumns(file.columns)
          .map(({ kind, name }) => `${kind} ${name}`)
          .toSorted((one, other) => one.localeCompare(other)),
      )
    expect(columnsOf()).toEqual([['boolean flag', 'number num', 'text text']])

    // Absent for a while, a column stays; newcomers take what is free, then what is half as frequent as they.
    send(100, () => ({ late: 1, later: 2, num: 3, text: 'y' }))
    await job.run()
    expect(columnsOf()[1]).toEqual(['number num', 'text late', 'text later', 'text text'])
    await job.close()
  })
})
