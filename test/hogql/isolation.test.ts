/** Hostile questions are refused or see the rows of their own project alone; no text of theirs becomes SQL. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Refusal } from '../../src/errors.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { guardProject } from '../../src/hogql/ir-queries.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'
import { FOREIGN, insertRows } from './rows.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
  await insertRows(world)
})
afterAll(() => world.close())

/** Families of tricks. Each must be refused before anything runs. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'files and network': [
    "select * from read_csv('/etc/passwd')",
    "select * from read_parquet('*.parquet')",
    "select * from read_text('/etc/hostname')",
    "select * from read_blob('/etc/hostname')",
    "select * from read_json('/tmp/x.json')",
    "select * from '/etc/passwd'",
    'select * from "/etc/passwd"',
    'select * from "events.parquet"',
    'select * from `file.csv`',
    "select * from glob('*')",
    "select * from file('x', 'CSV')",
    "select * from url('http://169.254.169.254/', 'CSV')",
    "select * from s3('https://b/x')",
    "select * from parquet_metadata('x')",
    "select * from sniff_csv('/etc/passwd')",
    "select read_text('/etc/passwd')",
    "select getenv('HOME')",
    "select file('x')",
    "select current_setting('temp_directory')",
  ],
  'the engine behind': [
    'select * from duckdb_tables()',
    'select * from duckdb_settings()',
    'select * from duckdb_functions()',
    'select * from sqlite_master',
    'select * from information_schema.tables',
    'select * from pg_catalog.pg_tables',
    'select * from main.all_events',
    'select * from all_events',
    'select * from all_persons',
    'select * from events_of(2)',
    'select * from persons_of(2)',
    'select * from person_overrides',
    'select * from person_overrides_of(1)',
    "select * from query('select 1')",
    "select * from query_table('all_events')",
    "select * from pragma_table_info('all_events')",
    'select * from memory.main.all_events',
    'select * from system.one',
    'select * from t1',
    'select * from q1',
    'select t1.event from events',
    'select c1 from (select event from events)',
    'select l1 from events',
    'select rowid from events',
    'select seq from events',
    'select project_id from events',
    'select old_person_id from events',
    "select json_execute_serialized_sql('{}')",
    "select query('select 1')",
    "select ch_refuse('x')",
    'select nextval(1)',
    'select pg_sleep(10)',
    'select sleep(3)',
    "select error('x')",
    'select events_of(1)',
    'select txid_current()',
  ],
  statements: [
    'insert into events values (1)',
    'drop table events',
    'create table x as select 1',
    "attach 'x.db' as x",
    'pragma database_list',
    "set memory_limit = '1TB'",
    "copy (select 1) to '/tmp/x'",
    'select 1; select 2',
    'select 1; drop table events',
    'explain select 1',
    'install httpfs',
    'call pragma_version()',
    'vacuum',
    'from events',
    'select 1 into x',
    'prepare a as select 1',
    'select * from events settings max_threads = 1',
    "select * from events format CSV into outfile '/tmp/x'",
  ],
  'names that look like others': [
    'select * from EVENTS_OF',
    'select * from еvents',
    'select * from events\u200B',
    'select * from "events of"',
    'select * from "events"";drop table x"',
    'select "event"";drop" from events',
    'select `a``b` from events',
    'select * from events.events',
    'select events.persons.id from events',
    'select __proto__ from events',
    'select constructor from events',
    'select * from constructor',
    'select * from __proto__',
    'select toString() from events',
    'select constructor(1)',
    'select __proto__(1)',
    'select hasOwnProperty(1)',
    'select properties.x from events.toString',
  ],
  sizes: [
    'select * from numbers(100000000000)',
    'select * from numbers(0, 99999999999)',
    'select * from generateSeries(1, 1000000000000)',
    'select * from generateSeries(1, 10, 0)',
    'select * from numbers(x)',
    'select count() from numbers(5) where number in (select number from numbers(99999999999))',
    `select ${'1 + '.repeat(600)}1`,
  ],
}

describe('refused', () => {
  for (const [family, texts] of Object.entries(REFUSED)) {
    test.each(texts)(`${family}: %s`, (text) => {
      let thrown: unknown = null
      try {
        compileHogQL(text, CONTEXT)
      } catch (error) {
        thrown = error
      }
      expect(thrown).toBeInstanceOf(Refusal)
      expect((thrown as Refusal).code).toBe('invalid_input')
      expect((thrown as Refusal).attr).toBe('query')
    })
  }
})

/** Tricks with rows: whatever they answer, it is of project 1. */
const OWN_ROWS: readonly string[] = [
  'select * from events',
  'select * from persons',
  'select * from person_distinct_ids',
  'select * from groups',
  'select * from raw_persons',
  'select * from events where team_id = 2',
  'select * from events where team_id = 2 or 1 = 1',
  'select * from events where 1 = 1 or (team_id = 2)',
  'select * from events where not (team_id = 1)',
  'select * from events e left join persons p on 1 = 1',
  'select * from events e right join persons p on e.team_id != p.team_id',
  'select * from events e full join persons p on e.person_id != p.id',
  'select * from events e cross join persons p',
  'select * from events, persons, groups',
  'select * from events e any left join persons p on e.person_id = p.id',
  'select * from events e anti join persons p on e.person_id = p.id',
  'select * from events e semi join persons p on e.person_id = p.id',
  'select * from events e positional join persons p',
  'select * from events e asof join persons p on e.person_id = p.id and e.timestamp >= p.created_at',
  'select * from events union all select * from events',
  'select person.properties.email, pdi.person.properties.email, poe.properties.email from events',
  'select group_0.properties.name, goe_0.properties.name from events',
  'select p.pdi.distinct_id from persons p',
  "select person.properties.email from person_distinct_ids where distinct_id = 'd1'",
  'with events as (select 2 as team_id) select * from events',
  'with events as (select * from events) select * from events',
  'with persons as (select * from events) select * from persons',
  'with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select * from r, events',
  'select (select count() from persons), (select any(properties) from groups)',
  'select * from events where distinct_id in (select distinct_id from person_distinct_ids where team_id = 2)',
  'select * from events where exists (select 1 from persons p where p.team_id = 2)',
  'select * from (select * from (select * from events)) where team_id = 2 or true',
  'select * from events as persons',
  'select * from persons as events',
  'select events.event from events as events',
  "select 'x'' or 1=1 --' as a, * from events",
  "select * from events where event = '\\' or 1=1 --'",
  "select * from events where event = '$1' or event = '$2'",
  'select * from events -- where team_id = 1',
  'select * from events /* where */ where /* team_id = 1 */ 1 = 1',
  'select event as "c1", 1 as "t1", 2 as "q1; drop" from events',
  'select event as "a""; select * from all_events; --" from events',
  'select x -> x from events',
  'select arrayMap(events_of -> events_of, [1, 2]) from events',
  'select arrayMap(x1 -> arrayMap(x0 -> x0 + x1, [1]), [1, 2]) from events',
  "select properties['$.*'], properties['*'], properties['/'], properties[''] from events",
  "select properties.`a'); drop table x; --` from events",
  "select JSONExtractString(properties, '*') from events",
  "select * from events where properties.leak = 'foreign'",
  "select * from events where match(properties, 'foreign')",
  'select argMax(properties, timestamp), groupArray(properties) from events',
  'select lag(properties) over (order by timestamp), any(properties) over () from events',
  'select * from events sample 0.999',
  'select distinct properties from events limit 100 by event',
  'select event, arrayJoin([properties]) from events',
  'select event, x from events array join [properties] as x',
  'select * from (values (1, 2)) as events(a, b)',
  'select toString(tuple(*)) from (select properties from events)',
  "select columns('.*') from events",
  'select * exclude (event) from events',
  'select count() from events group by rollup(event, team_id)',
  "select transform(event, ['x'], ['y'], properties) from events",
]

describe('own rows', () => {
  test.each(OWN_ROWS)('%s', async (text) => {
    let answer = 'refused'
    try {
      answer = JSON.stringify(
        await world.ask(text, { limits: { rows_default: 1000, rows_max: 1000 } }),
      )
    } catch (error) {
      // A refusal is fine; so is an error of the engine, which shows no rows.
      answer = error instanceof Error ? error.message : ''
    }
    const echoed = answer.replaceAll("'foreign'", '')
    expect(echoed).not.toContain(FOREIGN)
  })

  test('another project sees its own rows, and only those', async () => {
    const rows = await world.ask('select distinct distinct_id from events', { project_id: 2 })
    expect(rows).toEqual([[FOREIGN]])
  })

  test.each([0, -1, 1.5, Number.NaN])('project %d cannot be asked at all', (project_id) => {
    expect(() => guardProject(project_id)).toThrow('a query needs a project id')
    expect(() => compileHogQL('select 1', { ...CONTEXT, project_id })).toThrow(
      'a query needs a project id',
    )
  })
})

/** Texts that mean something to one engine or the other. */
const TEXT = fc.oneof(
  fc.string({ minLength: 6, maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 6, maxLength: 20 }),
  fc.constantFrom(
    "'; drop table x; --",
    '"; select 2',
    '$99::BIGINT',
    "\\'; --",
    'a"b`c',
    '{x}',
    '%_%\\',
  ),
)

function quoted(text: string, quote: "'" | '"' | '`'): string {
  return `${quote}${text.replaceAll('\\', '\\\\').replaceAll(quote, quote + quote)}${quote}`
}

const FORMS: readonly ((text: string) => string)[] = [
  (text) => `select ${quoted(text, "'")}`,
  (text) => `select event from events where event = ${quoted(text, "'")}`,
  (text) => `select properties[${quoted(text, "'")}] from events`,
  (text) => `select 1 as ${quoted(text, '`')}`,
  (text) => `select ${quoted(text, '`')} from (select 1 as ${quoted(text, '`')})`,
  (text) => `with ${quoted(text, '`')} as (select 1 as a) select a from ${quoted(text, '`')}`,
  (text) => `select event from events as ${quoted(text, '`')}`,
  (text) =>
    `select match(event, ${quoted(text, "'")}), event like ${quoted(text, "'")} from events`,
  (text) => `select arrayMap(x -> concat(x, ${quoted(text, "'")}), ['a'])`,
  (text) => `select formatDateTime(now(), ${quoted(text, "'")})`,
  (text) => `select event from events where event in (${quoted(text, "'")}, 'b') limit 1 by event`,
]

describe('no text of a question in the SQL', () => {
  test('whatever is written, it is bound', () => {
    fc.assert(
      fc.property(TEXT, fc.integer({ min: 0, max: FORMS.length - 1 }), (text, form) => {
        let compiled: ReturnType<typeof compileHogQL>
        try {
          compiled = compileHogQL(FORMS[form]?.(text) ?? '', CONTEXT)
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal)
          return
        }
        if (text.trim().length >= 6) expect(compiled.sql).not.toContain(text)
        // Nothing but what this program writes: no quotes around anything of the question, no statement but one.
        expect(compiled.sql).not.toContain(';')
        expect(compiled.sql).not.toContain('--')
        expect(compiled.sql).toMatch(/^(WITH|SELECT|\()/)
      }),
      { numRuns: 500 },
    )
  })

  test('texts come back from the engine as they were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 30 }), async (text) => {
        const [row] = await world.ask(`select {text}`, { values: new Map([['text', text]]) })
        expect(row).toEqual([text])
      }),
      { numRuns: 100 },
    )
  })
})
