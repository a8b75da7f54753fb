/** Rows of two projects: the first's are what queries may see, the second's are marked and must never show. */

import type { World } from './engine.ts'

/** A person id ending in the given digit. */
export function personId(digit: number): string {
  return `00000000-0000-4000-8000-00000000000${digit}`
}

/** Every text of project 2 holds this word. */
export const FOREIGN = 'foreign'

type EventRow = {
  readonly at: string
  readonly event: string
  readonly distinct_id: string
  readonly person: number
  readonly properties: Readonly<Record<string, unknown>>
  readonly group?: string
}

const EVENTS: readonly EventRow[] = [
  {
    at: '2024-06-01 10:00:00',
    event: '$pageview',
    distinct_id: 'd1',
    person: 1,
    properties: {
      $browser: 'Chrome',
      price: 10,
      paid: true,
      $current_url: 'https://a.com/x',
      tags: ['a', 'b'],
      o: { k: { n: 5 } },
      $session_id: 's1',
    },
  },
  {
    at: '2024-06-01 23:30:00',
    event: '$pageview',
    distinct_id: 'd2',
    person: 2,
    properties: { $browser: 'Firefox', price: '7.5', at: '2024-05-01T00:00:00Z' },
  },
  {
    at: '2024-06-02 00:30:00',
    event: 'purchase',
    distinct_id: 'd3',
    person: 3,
    properties: { $browser: 'Chrome', price: 20, paid: false },
  },
  {
    at: '2024-06-10 12:00:00',
    event: 'purchase',
    distinct_id: 'd1',
    person: 1,
    properties: { $browser: '', price: null, paid: 'maybe' },
  },
  {
    at: '2024-06-12 08:00:00',
    event: '$pageview',
    distinct_id: 'd4',
    person: 4,
    properties: { 'a"b': 'quote', 'a/b': 'slash', price: 'garbage' },
    group: 'acme',
  },
]

/** Inserts the rows. Person 3 was merged into person 1; person 4 has no profile. */
export async function insertRows(world: World): Promise<void> {
  const run = (sql: string): Promise<unknown> => world.connection.run(sql)
  const uuid = (project: number, index: number): string =>
    `0000000${project}-0000-4000-9000-00000000000${index}`
  for (const [index, row] of EVENTS.entries()) {
    await run(eventSql(1, uuid(1, index + 1), row))
    const name = `${FOREIGN} ${row.event}`
    const properties = { ...row.properties, $browser: FOREIGN, leak: FOREIGN }
    await run(
      eventSql(2, uuid(2, index + 1), { ...row, event: name, properties, distinct_id: FOREIGN }),
    )
  }
  await run(`insert into all_persons values
    (1, '${personId(1)}', '2024-01-01', '{"email":"ann@x.org","age":30,"plan":"pro"}', true, 2),
    (1, '${personId(2)}', '2024-02-01', '{"email":"bob@x.org","age":"41"}', false, 0),
    (2, '${personId(1)}', '2024-01-01', '{"email":"${FOREIGN}"}', true, 0),
    (2, '${personId(9)}', '2024-01-01', '{"email":"${FOREIGN}"}', true, 0)`)
  await run(
    `insert into all_overrides values (1, '${personId(3)}', '${personId(1)}'), (2, '${personId(2)}', '${personId(9)}')`,
  )
  await run(`insert into all_distinct_ids values
    (1, 'd1', '${personId(1)}', 0), (1, 'd2', '${personId(2)}', 0), (1, 'd3', '${personId(1)}', 1),
    (2, '${FOREIGN}', '${personId(9)}', 0), (2, 'd1', '${personId(9)}', 0)`)
  await run(`insert into all_cohort_people values
    (1, '${personId(1)}', 5), (1, '${personId(2)}', 6), (1, '${personId(1)}', 9),
    (2, '${personId(2)}', 5), (2, '${personId(4)}', 5), (2, '${personId(9)}', 6)`)
  await run(`insert into all_ingestion_warnings values
    (1, 'skipped', '{}', '2024-06-01'), (2, '${FOREIGN}', '{"x":"${FOREIGN}"}', '2024-06-01')`)
  await run(`insert into all_groups values
    (1, 0, 'acme', '2024-01-01', '2024-01-02', '{"name":"Acme","seats":5}'),
    (2, 0, 'acme', '2024-01-01', '2024-01-02', '{"name":"${FOREIGN}"}')`)
}

function eventSql(project: number, uuid: string, row: EventRow): string {
  const text = (value: string): string => `'${value.replaceAll("'", "''")}'`
  const group = row.group === undefined ? 'null' : text(row.group)
  const values = [
    project,
    project,
    text(uuid),
    text(row.event),
    text(row.distinct_id),
    text(personId(row.person)),
    text(row.person === 4 ? 'propertyless' : 'full'),
    text(row.at),
    text(row.at),
    text(JSON.stringify(row.properties)),
    text('button.primary:text="Buy"attr_id="buy"href="/cart"nth-child="1";div:nth-child="2"'),
    group,
    'null',
    'null',
    'null',
    'null',
  ]
  return `insert into all_events values (${values.join(', ')})`
}
