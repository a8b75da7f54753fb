/** The same generated events, persons and groups in both engines, for whole queries. */

import type { World } from '../hogql/engine.ts'
import type { ClickHouse } from './clickhouse.ts'

const EVENTS = ['$pageview', 'purchase', 'signup', 'click', '$pageview']
const BROWSERS = ['Chrome', 'Firefox', 'Safari', null, 'Ünïcode']
const PLANS = ['free', 'pro', '', null]
const START_S = Date.UTC(2024, 2, 28) / 1000

type Row = Readonly<Record<string, boolean | number | string | null>>

/** 240 events of 12 people over five weeks, across the start of summer time. */
function makeEvents(): readonly Row[] {
  let state = 7
  const next = (below: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return Math.floor((state / 2147483648) * below)
  }
  return Array.from({ length: 240 }, (_, index) => {
    const person = next(12)
    const when = new Date((START_S + next(35 * 86400)) * 1000).toISOString()
    return {
      uuid: `018e0000-0000-7000-8000-${String(index).padStart(12, '0')}`,
      event: EVENTS[next(5)] ?? '',
      distinct_id: `d${person}${next(2)}`,
      person: person < 10 ? person : null,
      person_id: personId(person),
      timestamp: when.slice(0, 19).replace('T', ' '),
      $browser: BROWSERS[next(5)] ?? null,
      plan: PLANS[next(4)] ?? null,
      price: next(4) === 0 ? null : next(2000) / 8,
      paid: [true, false, null][next(3)] ?? null,
      tags: JSON.stringify(['a', 'b', 'c'].slice(next(4))),
      url: `https://shop.example.com/${['', 'cart', 'item/1', 'item/2?x=1'][next(4)]}`,
      $session_id: `s${person}-${next(3)}`,
      group: next(2) === 0 ? '' : `g${next(3)}`,
    }
  })
}

const EVENT_PROPERTIES = ['$browser', 'plan', 'price', 'paid', 'tags', 'url', '$session_id']

function personId(person: number): string {
  return `00000000-0000-4000-8000-0000000000${String(person).padStart(2, '0')}`
}

function personOf(person: number): { readonly email: string | null; readonly age: number | null } {
  return {
    email: person % 3 === 0 ? null : `p${person}@x.org`,
    age: person % 4 === 0 ? null : 20 + person,
  }
}

function literal(value: boolean | number | string | null | undefined): string {
  if (value === null || value === undefined) return 'null'
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

/** Puts the rows behind our relations, as project 1. */
export async function fillWorld(world: World): Promise<void> {
  const events = makeEvents().map((row, seq) => {
    const properties = Object.fromEntries(
      EVENT_PROPERTIES.filter((key) => row[key] !== null).map((key) => [
        key,
        key === 'tags' ? JSON.parse(String(row[key])) : row[key],
      ]),
    )
    const group = row['group'] === '' ? null : row['group']
    return `(1, ${seq}, ${[row['uuid'], row['event'], row['distinct_id'], row['person_id'], 'full', row['timestamp'], row['timestamp'], JSON.stringify(properties), '', group].map(literal).join(', ')}, null, null, null, null)`
  })
  await world.connection.run(`insert into all_events values ${events.join(', ')}`)
  for (let person = 0; person < 10; person += 1) {
    const properties = JSON.stringify(personOf(person))
    await world.connection.run(
      `insert into all_persons values (1, '${personId(person)}', '2024-03-0${(person % 9) + 1}', '${properties}', ${person % 2 === 0}, 0)`,
    )
    for (const part of [0, 1])
      await world.connection.run(
        `insert into all_distinct_ids values (1, 'd${person}${part}', '${personId(person)}', 0)`,
      )
  }
  for (const group of [0, 1])
    await world.connection.run(
      `insert into all_groups values (1, 0, 'g${group}', '2024-01-01', '2024-01-02', '{"name":"Group ${group}","seats":${group * 5}}')`,
    )
}

/** The same rows as ClickHouse tables whose nested tuples read as HogQL's properties do, instants in a zone. */
export function fillClickHouse(clickhouse: ClickHouse, timezone: string): void {
  const moment = `DateTime64(6, '${timezone}')`
  for (const table of ['events', 'persons', 'groups', 'person_distinct_ids'])
    clickhouse.run(`drop table if exists ${table}`)
  const person_type = `Tuple(email Nullable(String), age Nullable(Float64))`
  clickhouse.run(
    `create table events (uuid UUID, event String, distinct_id String, person_id UUID, timestamp ${moment}, created_at ${moment},
      properties Tuple(\`$browser\` Nullable(String), plan Nullable(String), price Nullable(Float64), paid Nullable(Bool), tags Nullable(String), url Nullable(String), \`$session_id\` Nullable(String)),
      person Tuple(id Nullable(UUID), properties ${person_type}), \`$group_0\` String, elements_chain String) engine = Memory`,
  )
  clickhouse.run(
    `create table persons (id UUID, created_at ${moment}, is_identified Bool, properties ${person_type}) engine = Memory`,
  )
  clickhouse.run(
    `create table groups (\`index\` UInt8, key String, properties Tuple(name Nullable(String), seats Nullable(String))) engine = Memory`,
  )
  clickhouse.run(
    `create table person_distinct_ids (distinct_id String, person_id UUID) engine = Memory`,
  )
  const rows = makeEvents().map((row) => {
    const person = row['person'] === null ? null : Number(row['person'])
    const of = person === null ? { email: null, age: null } : personOf(person)
    const at = `toDateTime64('${row['timestamp']}', 6, 'UTC')`
    const properties = EVENT_PROPERTIES.map((key) => literal(row[key])).join(', ')
    return `(${[row['uuid'], row['event'], row['distinct_id'], row['person_id']].map(literal).join(', ')}, ${at}, ${at}, (${properties}), (${literal(person === null ? null : personId(person))}, (${literal(of.email)}, ${literal(of.age)})), ${literal(row['group'])}, '')`
  })
  clickhouse.run(`insert into events values ${rows.join(', ')}`)
  for (let person = 0; person < 10; person += 1) {
    const { email, age } = personOf(person)
    clickhouse.run(
      `insert into persons values ('${personId(person)}', toDateTime64('2024-03-0${(person % 9) + 1} 00:00:00', 6, 'UTC'), ${person % 2 === 0}, (${literal(email)}, ${literal(age)}))`,
    )
    clickhouse.run(
      `insert into person_distinct_ids values ('d${person}0', '${personId(person)}'), ('d${person}1', '${personId(person)}')`,
    )
  }
  clickhouse.run(
    `insert into groups values (0, 'g0', ('Group 0', '0')), (0, 'g1', ('Group 1', '5'))`,
  )
}
