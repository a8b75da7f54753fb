/** Persons in files: whatever happens to them or to the files, queries answer what events.db says. */
import { expect, test } from 'bun:test'
import { chmodSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check'
import { neededColumnName } from '../../src/column-names.ts'
import type { QueryEngine } from '../../src/query/engine/engine.ts'
import type { ReplicaRule } from '../../src/snapshots/dependencies.ts'
import { sweepDataFolder } from '../../src/snapshots/sweep.ts'
import { filePath } from '../../src/storage/files/parquet.ts'
import { type ColumnKind, fromJson } from '../../src/storage/files/property-columns.ts'
import {
  listReplicaFiles,
  listReplicaMarks,
  type ReplicaFile,
} from '../../src/storage/files/replica-files.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { ask, idOf, MARCH_US, World } from '../query/world.ts'
import { randomRuns } from '../random-runs.ts'
import { createJob, FAULT_CHAINS, failure, filesOnDisk, type JobOptions } from './snapshot-world.ts'

limitTests(120_000)

/** Whatever changed is written; files are small, and few changes are taken at a time. */
const EAGER: ReplicaRule = {
  rows: 1,
  pause_us_per_row: 0,
  age_s: 0,
  small_rows: 10,
  changes_max: 40,
}

type Operation =
  | { readonly kind: 'delete' | 'keep' | 'join' | 'leave' | 'person'; readonly number: number }
  | { readonly kind: 'group' | 'give' | 'take' | 'ungroup'; readonly number: number }

const KINDS = [
  'delete',
  'keep',
  'join',
  'leave',
  'person',
  'group',
  'give',
  'take',
  'ungroup',
] as const

const propertiesOf = (number: number, version: number): string =>
  JSON.stringify({
    name: number % 5 === 0 ? number : `name ${number}`,
    plan: number % 3 === 0 ? 'pro' : number % 3 === 1 ? 'true' : true,
    age: number % 7 === 0 ? `${version}.5` : number,
    ...(number % 40 === 1 ? { 'rare "one"': version, 'ünï/~': version } : {}),
  })

/** One change of the database, with a change number of its own. */
const CHANGES: Readonly<Record<Exclude<Operation['kind'], 'keep'>, string>> = {
  person: `insert into persons (project_id, id, created_at, properties, is_identified, version, change)
values (1, $id, ${MARCH_US}, $properties, 0, 1, $change)
on conflict (project_id, id) do update
set properties = excluded.properties, version = version + 1, is_deleted = 0, change = excluded.change`,
  delete: `update persons set is_deleted = 1, properties = '{}', change = $change
where id = $id and $properties <> ''`,
  give: `insert into distinct_ids (project_id, distinct_id, person_id, version, change)
values (1, 'user ' || hex($id), $id, 0, $change)
on conflict (project_id, distinct_id) do update
set version = version + 1, person_id = excluded.person_id, change = excluded.change
where $properties <> ''`,
  take: `update distinct_ids set person_id = x'', change = $change
where distinct_id = 'user ' || hex($id) and $properties <> ''`,
  group: `insert into groups (project_id, group_type_index, group_key, created_at, updated_at, properties, change)
values (1, 0, hex($id), 1, $change, $properties, $change)
on conflict (project_id, group_type_index, group_key) do update
set properties = excluded.properties, updated_at = excluded.updated_at, is_deleted = 0, change = excluded.change`,
  ungroup: `update groups set is_deleted = 1, properties = '{}', change = $change
where group_key = hex($id) and $properties <> ''`,
  join: `insert or ignore into cohort_people (project_id, cohort_id, person_id)
select 1, 7, $id where $change > 0 and $properties <> ''`,
  leave: `delete from cohort_people
where person_id = $id and $change > 0 and $properties <> ''`,
}

function change(world: World, { kind, number }: Operation): void {
  if (kind === 'keep') return
  world.log.transact(() => {
    const at = world.log.nextChange()
    world.log.db
      .query(CHANGES[kind])
      .run({ id: idOf(number), properties: propertiesOf(number, at), change: at })
  })
}

const COLUMNS: readonly (readonly [kind: ColumnKind, name: string])[] = [
  ['text', 'name'],
  ['text', 'plan'],
  ['boolean', 'plan'],
  ['number', 'age'],
  ['number', 'rare "one"'],
  ['text', 'ünï/~'],
]

/** For each property, in how many rows its column does not say what the JSON does. */
function wrongColumns(owner: 'group' | 'person'): string {
  return COLUMNS.map(
    ([kind, name]) =>
      `(count(*) filter (where "${neededColumnName({ owner, kind, name })}" is distinct from ${fromJson({ kind, name })}))::int`,
  ).join(', ')
}

const RELATIONS = [
  {
    told: `select replace(id::varchar, '-', ''), properties, is_identified, version::int from persons_of($1) order by 1`,
    kept: `select lower(hex(id)), properties, is_identified, version from persons where is_deleted = 0 order by 1`,
  },
  {
    told: `select distinct_id, replace(person_id::varchar, '-', ''), version::int from person_distinct_ids_of($1) order by 1`,
    kept: `select distinct_id, lower(hex(person_id)), version from distinct_ids where person_id <> x'' order by 1`,
  },
  {
    told: `select key, properties, epoch_us(updated_at)::int from groups_of($1) order by 1`,
    kept: 'select group_key, properties, updated_at from groups where is_deleted = 0 order by 1',
  },
  {
    told: `select replace(person_id::varchar, '-', ''), cohort_id::int from cohort_people_of($1) order by 1`,
    kept: 'select lower(hex(person_id)), cohort_id from cohort_people order by 1',
  },
]

async function expectTruth(world: World, engine: QueryEngine): Promise<void> {
  for (const { told, kept } of RELATIONS) {
    const expected = world.log.db.query(kept).values() as unknown[][]
    const rows = await ask(engine, told)
    expect(rows.map((row) => row.map(asNumber))).toEqual(expected.map((row) => row.map(asNumber)))
  }
  for (const [owner, relation] of [
    ['person', 'persons_of'],
    ['group', 'groups_of'],
  ] as const) {
    const sql = `select ${wrongColumns(owner)} from ${relation}($1)`
    expect(await ask(engine, sql)).toEqual([COLUMNS.map(() => 0)])
  }
}

/** SQLite has no truth values. */
const asNumber = (value: unknown): unknown => (typeof value === 'boolean' ? Number(value) : value)

const keep = async (world: World, options: JobOptions): Promise<void> => {
  const job = createJob(world, { replicas: EAGER, ...options })
  try {
    await job.writeReplicas()
  } finally {
    await job.close()
  }
}

const FILLING = ['person', 'give', 'group', 'join'] as const

/** Fills all relations, or those of some changes. Each relation takes a process for each step of 40 rows. */
function fill(
  world: World,
  count: number,
  kinds: readonly (typeof FILLING)[number][] = FILLING,
): void {
  for (let number = 1; number <= count; number++) {
    for (const kind of kinds) change(world, { kind, number })
  }
}

const replicaFiles = ({ log }: World): readonly ReplicaFile[] => listReplicaFiles(log.db)

test('any history of changes and of writing files is answered as events.db has it, by whoever was open and by whoever opens', async () => {
  const operation = record({
    kind: constantFrom(...KINDS),
    number: integer({ min: 1, max: 60 }),
  })
  await assert(
    asyncProperty(array(array(operation, { maxLength: 60 }), { maxLength: 4 }), async (rounds) => {
      await using world = new World()
      const open = world.openEngine({ threads: 1 })
      for (const operations of rounds) {
        for (const one of operations) {
          change(world, one)
          if (one.kind === 'keep' && one.number > 50) await keep(world, { readers: open })
        }
        await expectTruth(world, open)
        await keep(world, { readers: open })
        await expectTruth(world, open)
      }
      await expectTruth(world, world.openEngine({ threads: 1 }))
    }),
    randomRuns(2),
  )
})

test('files are written in steps, only those that are no longer true are written again, and small ones are put together', async () => {
  await using world = new World()
  // More than one step takes.
  fill(world, 60)
  const engine = world.openEngine()
  await expectTruth(world, engine)
  await keep(world, { readers: engine })
  const before = replicaFiles(world)
  for (const { relation, row_count } of before)
    expect([relation, row_count >= 10]).toEqual([relation, true])
  for (const relation of ['persons', 'person_distinct_ids', 'groups', 'cohort_people']) {
    const mine = before.filter((file) => file.relation === relation)
    expect(mine.length).toBeGreaterThan(1)
    expect(mine.reduce((sum, { row_count }) => sum + row_count, 0)).toBe(60)
  }
  await expectTruth(world, engine)
  change(world, { kind: 'delete', number: 3 })
  change(world, { kind: 'ungroup', number: 3 })
  change(world, { kind: 'person', number: 500 })
  await keep(world, { readers: engine })
  const after = replicaFiles(world)
  const gone = before.filter(({ id }) => !after.some((file) => file.id === id))
  expect(gone.map(({ relation }) => relation).toSorted()).toEqual(['groups', 'persons'])
  await expectTruth(world, engine)
  await expectTruth(world, world.openEngine())
  expect(filesOnDisk(world)).toHaveLength(after.length)
  expect(listReplicaMarks(world.log.db).map(({ is_whole }) => is_whole)).toEqual([1, 1, 1, 1])
})

test('a deleted person leaves the files: nothing of what they hold has its properties', async () => {
  await using world = new World()
  fill(world, 35, ['person'])
  const secret = 'name 31'
  world.log.db.run('update persons set properties = \'{"name":"name 31"}\' where id = ?', [
    idOf(31),
  ])
  await keep(world, {})
  const held = async (): Promise<unknown> => {
    const paths = replicaFiles(world).filter(({ relation }) => relation === 'persons')
    const { DuckDBInstance } = await import('@duckdb/node-api')
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const list = paths.map((file) => `'${filePath(world.data_dir, file)}'`).join(', ')
    const reader = await connection.runAndReadAll(
      `select count(*) from read_parquet([${list}]) where properties like '%${secret}"%'`,
    )
    connection.closeSync()
    return Number(reader.getRows()[0]?.[0])
  }
  expect(await held()).toBe(1)
  change(world, { kind: 'delete', number: 31 })
  await keep(world, {})
  expect(await held()).toBe(0)
})

test('one changed row leaves the files once they are an hour old, also when it was too few before', async () => {
  await using world = new World()
  fill(world, 30, ['person'])
  const job = createJob(world, { replicas: { ...EAGER, rows: 20, age_s: 3600 } })
  const countRows = (): number =>
    replicaFiles(world).reduce((sum, { row_count }) => sum + row_count, 0)
  await job.writeReplicas()
  expect(countRows()).toBe(30)
  change(world, { kind: 'delete', number: 3 })
  await job.writeReplicas()
  expect(countRows()).toBe(30)
  world.log.db.run('update mirrors set created_at = created_at - 3600000000')
  await job.writeReplicas()
  expect(countRows()).toBe(29)
  await job.close()
})

longTest(
  'a damaged, a short or a missing file is not believed, and is written anew from events.db',
  async () => {
    const damages: ((path: string) => void)[] = [
      (path) => truncateSync(path, statSync(path).size - 1),
      (path) => rmSync(path),
      (path) => writeFileSync(`${path}.damaged`, ''),
      (path) => {
        const bytes = readFileSync(path)
        bytes.fill(0, bytes.length - 40, bytes.length - 8)
        chmodSync(path, 0o640)
        writeFileSync(path, bytes)
      },
    ]
    await using intact = new World()
    fill(intact, 20, ['person', 'group'])
    await keep(intact, {})
    const before = replicaFiles(intact)
    for (const damage of damages) {
      await using world = new World(intact)
      const file = before.find(({ relation }) => relation === 'persons')
      if (file === undefined) throw new Error('no file of persons')
      damage(filePath(world.data_dir, file))
      const engine = world.openEngine()
      await expectTruth(world, engine)
      change(world, { kind: 'person', number: 7 })
      await keep(world, { readers: engine }).catch(() => undefined)
      await keep(world, { readers: engine })
      expect(replicaFiles(world).map(({ id }) => id)).not.toContain(file.id)
      await expectTruth(world, engine)
      await expectTruth(world, world.openEngine())
    }
  },
)

test('a flipped byte is found by its checksum before anything is made of the file', async () => {
  await using world = new World()
  fill(world, 20, ['person'])
  await keep(world, {})
  const file = replicaFiles(world).find(({ relation }) => relation === 'persons')
  if (file === undefined) throw new Error('no file of persons')
  const path = filePath(world.data_dir, file)
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(60) ^ 1, 60)
  chmodSync(path, 0o640)
  writeFileSync(path, bytes)
  for (let number = 1; number <= 20; number++) change(world, { kind: 'person', number })
  expect(await failure(keep(world, {}))).toContain('does not match its checksum')
  await keep(world, {})
  expect(replicaFiles(world).map(({ id }) => id)).not.toContain(file.id)
  await expectTruth(world, world.openEngine())
})

test.each(FAULT_CHAINS)(
  'a process that ends at “%s” leaves what was there, and the next one goes on',
  async (_, faults) => {
    await using world = new World()
    fill(world, 30, ['person', 'group'])
    await keep(world, {})
    const before = replicaFiles(world)
    const engine = world.openEngine()
    for (const number of [1, 20, 101]) change(world, { kind: 'person', number })
    for (const fault of faults) {
      expect(await failure(keep(world, { readers: engine, fault }))).toContain(
        'snapshot process ended',
      )
      expect([fault, replicaFiles(world)]).toEqual([fault, before])
      await expectTruth(world, engine)
    }
    await engine.close()
    sweepDataFolder(world.data_dir)
    expect(filesOnDisk(world)).toHaveLength(before.length)
    await keep(world, {})
    await expectTruth(world, world.openEngine())
  },
)

test('a project that is forgotten has no files of persons either', async () => {
  await using world = new World()
  fill(world, 5)
  await keep(world, {})
  const job = createJob(world, { replicas: EAGER })
  await job.forgetProject(1)
  expect(replicaFiles(world)).toEqual([])
  expect(listReplicaMarks(world.log.db)).toEqual([])
  expect(filesOnDisk(world)).toEqual([])
  await job.close()
})

test('few rows are not worth a file', async () => {
  await using world = new World()
  fill(world, 100)
  const job = createJob(world)
  await job.writeReplicas()
  await job.close()
  expect(filesOnDisk(world)).toEqual([])
})
