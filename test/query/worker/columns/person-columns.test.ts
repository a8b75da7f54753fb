/** Properties of persons and groups: a query has the same answer from their columns as from their JSON, however they change. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { compileHogQL } from '../../../../src/hogql/compile.ts'
import type { KnownPropertyType } from '../../../../src/hogql/context.ts'
import type { QueryEngine } from '../../../../src/query/engine/engine.ts'
import { idOf, MARCH_US, World } from '../../world.ts'

setDefaultTimeout(60_000)

const TYPES: ReadonlyMap<string, KnownPropertyType> = new Map([
  ['person:age', 'Numeric'],
  ['person:vip', 'Boolean'],
  ['group_0:seats', 'Numeric'],
])

const QUERIES = [
  'select distinct_id, person.properties.name, person.properties.age, person.properties.vip from events order by 1',
  "select person.properties.plan.name as p, count() from events where person.properties.age > 1 or group_0.properties.name = 'Acme' group by p order by p",
  'select distinct_id, group_0.properties.seats, group_0.properties.name from events order by 1',
  'select properties.name, properties.missing, properties.age from persons order by 1, 3',
  'select key, properties.name from groups order by 1',
]

async function ask(engine: QueryEngine, text: string, has_columns: boolean): Promise<unknown> {
  const compiled = compileHogQL(text, {
    project_id: 1,
    timezone: 'UTC',
    week_start_day: 0,
    hidden_tables: [],
    now_us: BigInt(MARCH_US),
    property_types: TYPES,
    has_property_columns: has_columns,
  })
  expect(/"p_[pg][nbt]_/.test(compiled.sql)).toBe(has_columns)
  const values = compiled.values.map(({ type, value }) => ({ type, text: String(value) }))
  const answer = await engine.run(
    { ...compiled, project_id: 1, values, rows_max: 1000, more_is_too_many: true },
    { timeout_ms: 60_000 },
  )
  return JSON.parse(Buffer.from(answer.rows_json).toString())
}

function know(world: World, number: number, properties: object): void {
  world.log.transact(() => {
    const text = JSON.stringify(properties)
    world.log.db.run(
      `insert into persons (project_id, id, created_at, properties, is_identified, version, change)
       values (1, ?, ?, ?, 1, 1, ?)
       on conflict (project_id, id) do update set properties = excluded.properties, change = excluded.change`,
      [idOf(number), MARCH_US, text, world.log.nextChange()],
    )
    world.log.db.run(
      `insert into groups (project_id, group_type_index, group_key, created_at, updated_at, properties, change)
       values (1, 0, ?, 1, 1, ?, ?)
       on conflict (project_id, group_type_index, group_key) do update set properties = excluded.properties, change = excluded.change`,
      [`g${number}`, text, world.log.nextChange()],
    )
  })
}

test('columns say what the JSON says: of rows there before, of new ones and of changed ones', async () => {
  await using world = new World()
  const engine = world.openEngine()
  const compare = async (): Promise<void> => {
    for (const text of QUERIES) {
      expect([text, await ask(engine, text, true)]).toEqual([text, await ask(engine, text, false)])
    }
  }
  for (const number of [1, 2, 3]) {
    world.send({
      distinct_id: `user ${number}`,
      person_id: idOf(number),
      groups: [`g${number}`, null, null, null, null],
    })
  }
  know(world, 1, { name: 'Acme', age: 30, vip: true, plan: { name: 'pro' }, seats: 5 })
  know(world, 2, { name: 7, age: 'old', vip: 'false', plan: 'pro', seats: '12' })
  await compare()
  know(world, 3, { name: null, age: 1e300, seats: -0 })
  know(world, 1, { name: 'Acme & Co', vip: false })
  await compare()
  world.log.transact(() => {
    world.log.db.run('update persons set is_deleted = 1, change = ? where id = ?', [
      world.log.nextChange(),
      idOf(2),
    ])
  })
  await compare()
})

test('a store that would get too many columns is opened anew', async () => {
  await using world = new World()
  const engine = world.openEngine()
  world.send({ person_id: idOf(1) })
  know(world, 1, { p7: 'here', p250: 'there' })
  for (let from = 0; from < 300; from += 50) {
    const names = Array.from({ length: 50 }, (_, index) => `person.properties.p${from + index}`)
    const [row] = (await ask(engine, `select ${names.join(', ')} from events`, true)) as unknown[][]
    const found = row?.filter((value) => value !== null)
    expect(found).toEqual(from === 0 ? ['here'] : from === 250 ? ['there'] : [])
  }
})

test('whoever asks while a store is found full has its own columns all the same', async () => {
  await using world = new World()
  const engine = world.openEngine({ memory_mb: 2048 })
  world.send({ person_id: idOf(1) })
  know(world, 1, { k0: 'here' })
  const askFor = async (number: number): Promise<void> => {
    await Bun.sleep(number % 5)
    const names = Array.from({ length: 60 }, (_, index) => `person.properties.k${number}_${index}`)
    const text = `select person.properties.k0, ${names.join(', ')} from events`
    const [row] = (await ask(engine, text, true)) as unknown[][]
    expect([row?.[0], row?.length]).toEqual(['here', 61])
  }
  for (let number = 1; number < 24; number += 3) {
    await Promise.all([number, number + 1, number + 2].map(askFor))
  }
})
