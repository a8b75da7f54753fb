/**
 * The walls around a project's rows in ClickHouse, each alone: the compiler's guard and bound texts, the restricted user,
 * the filters that the engine sends along. Hostile texts are those of `test/hogql/isolation/`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Refusal } from '../../src/errors.ts'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { type CompiledQuery, compileHogQL } from '../../src/hogql/compile.ts'
import { tableFilters } from '../../src/query/clickhouse/table-filters.ts'
import { CONTEXT, openWorld } from '../hogql/engine.ts'
import { OWN_ROWS } from '../hogql/isolation/hostile.ts'
import { REWRITTEN } from '../hogql/isolation/hostile-rewrites.ts'
import { FOREIGN, insertRows, personId } from '../hogql/rows.ts'
import { limitOf, longTest } from '../long-tests.ts'
import { isTried, randomRuns } from '../random-runs.ts'
import { rejectionOf } from '../rejection.ts'
import { askClickHouse } from './ask.ts'
import { type ClickHouseCluster, startCluster } from './cluster.ts'
import { hasClickHouse } from './library.ts'
import { clientOf, copyRows, makeTables } from './rows.ts'

/** With every join and condition that a project can have. */
const DIALECT = clickhouseDialect({ has_id_overrides: true, has_removed_persons: true })
const LIMITS = { rows_default: 1000, rows_max: 1000 }

/** The parser and the compiler are the same for both engines, and `test/hogql/isolation/` asks DuckDB all of them. */
const HOSTILE = [...OWN_ROWS, ...REWRITTEN].filter((_, index) => isTried(index, 5))

const compile = (text: string): CompiledQuery =>
  compileHogQL(text, { ...CONTEXT, limits: LIMITS }, DIALECT)

describe.skipIf(!hasClickHouse())('rows of two projects in ClickHouse', () => {
  for (const shard_count of [1, 2])
    describe(`on ${shard_count} servers`, () => {
      let cluster: ClickHouseCluster

      beforeAll(async () => {
        cluster = await startCluster(shard_count)
        await makeTables(cluster)
        const world = await openWorld()
        await insertRows(world)
        await copyRows(world.connection, cluster)
        world.close()
      }, limitOf(120_000))

      afterAll(() => cluster?.[Symbol.asyncDispose]())

      // Two servers have all that one has, and what goes between them.
      const testOfTexts = shard_count === 1 ? longTest : test
      testOfTexts(
        'are never shown to the other one by a hostile text',
        async () => {
          const shown: string[] = []
          let answered = 0
          for (const text of HOSTILE) {
            let answer = ''
            try {
              const rows = await askClickHouse(clientOf(cluster, 0, 'queries'), compile(text))
              answer = JSON.stringify(rows)
              answered += 1
            } catch (error) {
              // A refusal is fine; so is an error of the server, which shows no rows.
              answer = error instanceof Refusal ? error.detail : ''
              // The next texts need both servers.
              if (/ALL_CONNECTION_TRIES_FAILED/.test(String(error))) await cluster.startAborted()
            }
            const echoed = answer.replaceAll("'foreign'", '')
            if (echoed.includes(FOREIGN) || echoed.includes(personId(9))) shown.push(text)
          }
          expect(shown).toEqual([])
          expect(answered).toBeGreaterThan(HOSTILE.length / 3)
        },
        limitOf(600_000),
      )

      test('are there for their own project', async () => {
        const theirs = compileHogQL(
          'select distinct distinct_id from events',
          { ...CONTEXT, project_id: 2 },
          DIALECT,
        )
        expect(await askClickHouse(clientOf(cluster, 0, 'queries'), theirs)).toEqual([[FOREIGN]])
      })

      test.each(['events', 'persons', 'person_distinct_ids', 'groups'])(
        'are filtered in %s even where a statement names no project',
        async (table) => {
          const ask = (project_id: number): Promise<string> =>
            clientOf(cluster, 0, 'queries').run(`SELECT DISTINCT project_id FROM ${table}`, {
              settings: { additional_table_filters: tableFilters(project_id) },
            })
          expect(await ask(1)).toBe('1\n')
          expect(await ask(2)).toBe('2\n')
          expect(await ask(3)).toBe('')
        },
      )

      test.each([
        'INSERT INTO events (project_id) VALUES (1)',
        'ALTER TABLE persons DELETE WHERE 1',
        'TRUNCATE TABLE persons',
        'DROP TABLE groups',
        'CREATE TABLE mine (n UInt8) ENGINE = Memory',
        'CREATE FUNCTION mine AS x -> x',
        "SELECT * FROM url('http://127.0.0.1:1/', LineAsString)",
        "SELECT * FROM file('/etc/passwd', LineAsString)",
        "SELECT * FROM s3('http://127.0.0.1:1/a', LineAsString)",
        "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
        "SELECT * FROM remote('127.0.0.1', system.one)",
        "SELECT * FROM cluster('tidemark', system.one)",
        "SELECT * FROM executable('cat', LineAsString, 'x String')",
        "SELECT * FROM events INTO OUTFILE '/tmp/tidemark-events' FORMAT TSV",
        "KILL QUERY WHERE user = 'writer'",
        'SYSTEM FLUSH LOGS',
        'SET readonly = 0',
        'SELECT 1 SETTINGS readonly = 0',
        'SELECT 1 SETTINGS max_memory_usage = 0',
        'SELECT 1 SETTINGS max_execution_time = 0',
        'SELECT 1 SETTINGS max_rows_to_read = 0',
        'SELECT 1 SETTINGS max_result_bytes = 0',
        'SELECT 1 SETTINGS skip_unavailable_shards = 1',
      ])('cannot be reached by the restricted user: %s', async (sql) => {
        expect(await rejectionOf(clientOf(cluster, 0, 'queries').run(sql))).toMatchObject({
          message: expect.stringMatching(/^Code: \d+/),
        })
      })
    })
})

/** Texts that mean something to ClickHouse. */
const TEXT = fc.oneof(
  fc.string({ minLength: 6, maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 6, maxLength: 20 }),
  fc.constantFrom(
    "'; drop table x; --",
    '`) or 1 --',
    '{p1:String}',
    '$$ or 1 $$',
    "\\'; --",
    'a"b`c.:String',
    'rest.`x`',
    '/* x */ union',
  ),
)

const quoted = (text: string, quote: "'" | '`'): string =>
  `${quote}${text.replaceAll('\\', '\\\\').replaceAll(quote, quote + quote)}${quote}`

const FORMS: readonly ((text: string) => string)[] = [
  (text) => `select ${quoted(text, "'")}`,
  (text) => `select event from events where event = ${quoted(text, "'")}`,
  (text) => `select properties[${quoted(text, "'")}] from events`,
  (text) => `select person.properties[${quoted(text, "'")}] from events`,
  (text) => `select properties.a.b[${quoted(text, "'")}] from events`,
  (text) => `select 1 as ${quoted(text, '`')}`,
  (text) => `with ${quoted(text, '`')} as (select 1 as a) select a from ${quoted(text, '`')}`,
  (text) => `select match(event, ${quoted(text, "'")}) from events`,
  (text) => `select arrayMap(x -> concat(x, ${quoted(text, "'")}), ['a'])`,
  (text) => `select toDateTime('2024-01-01', ${quoted(text, "'")})`,
  (text) => `select toTimeZone(timestamp, ${quoted(text, "'")}) from events`,
  (text) => `select JSONExtract(properties, 'a', ${quoted(text, "'")}) from events`,
]

/** What SQL of the printer has: words, numbers, its punctuation, types in quotes, names in back quotes, parameters. */
const PRINTED =
  /^(?:\w|[ (),.*=<>+/|-]|->|\[\]|'(?:Nullable\(\w+\)|U?Int\d+|Float64|Date|\(\?i\))?'|`[\w%-]+`|\{p\d+:(?:String|Int64)\}|:String)*$/

describe('a text of a query', () => {
  test('is bound, or a name of percent-encoded characters in back quotes', () => {
    fc.assert(
      fc.property(TEXT, fc.integer({ min: 0, max: FORMS.length - 1 }), (text, form) => {
        let compiled: CompiledQuery
        try {
          compiled = compile(FORMS[form]?.(text) ?? '')
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal)
          return
        }
        expect(compiled.sql).toMatch(PRINTED)
        expect(compiled.sql.replaceAll(/`[^`]*`/g, '')).not.toContain('--')
        expect(compiled.sql).toMatch(/^(?:WITH|SELECT) /)
      }),
      randomRuns(200),
    )
  })
})
