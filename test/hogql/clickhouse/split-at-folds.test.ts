/** Statements that fold, parted: the SQL for ClickHouse, and the SQL of the query process over its files. */
import { describe, expect, test } from 'bun:test'
import { clickhouseDialect } from '../../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../../src/hogql/clickhouse/table-state.ts'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { CONTEXT } from '../engine.ts'

function partsOf(text: string): { readonly gathered: readonly string[]; readonly rest: string } {
  const { sql, gather_statements = [] } = compileHogQL(
    text,
    CONTEXT,
    clickhouseDialect(PLAIN_STATE),
  )
  return { gathered: gather_statements.map((part) => part.sql), rest: sql }
}

const TIMELINE = "actor_timeline(0)(timestamp, event = 'a')"

const FOLD = `funnel_steps(${TIMELINE}, '{}')`
/** The timeline of relation 1, as ClickHouse gathers it. */
const GATHERED =
  'arraySort(groupArray(toFloat64((toUnixTimestamp64Micro(toDateTime64(t1.`timestamp`, 6)) - toInt64(0)) * toInt64(2) + if(equals(t1.`event`, {p1:String}), toInt64(1), 0))))'

const lines = (...clauses: readonly string[]): string => clauses.join(' ')

describe('a statement that folds', () => {
  test('is gathered as far as it groups, and folded from the file', () => {
    const text = `select ${FOLD} as taken, distinct_id from events where event in ('a', 'b')
      group by distinct_id having count() > 1 order by distinct_id limit 3`
    expect(partsOf(text)).toEqual({
      gathered: [
        lines(
          `SELECT t1.\`distinct_id\` AS c2000002, ${GATHERED} AS c2000003`,
          'FROM events AS t1',
          'WHERE t1.project_id = 1 AND (t1.`event` IN ({p1:String}, {p2:String}))',
          'GROUP BY t1.`distinct_id`',
          'HAVING greater(count(), 1)',
        ),
      ],
      rest: lines(
        'SELECT js_funnel_steps($1::VARCHAR, t2000001."c2000003") AS c1, t2000001."c2000002" AS c2',
        'FROM (SELECT (t2000004."c2000002")::VARCHAR AS c2000002, (t2000004."c2000003")::DOUBLE[] AS c2000003',
        'FROM read_parquet($2) AS t2000004) AS t2000001',
        'ORDER BY 2 LIMIT $3::BIGINT',
      ),
    })
  })

  test('takes from a joined table the columns and rows that it reads', () => {
    const text = `select p.id from (select distinct_id, ${FOLD} as taken from events group by distinct_id) as f
      join persons as p on toString(p.id) = f.distinct_id where p.properties.plan = 'pro' and f.taken[1] > 0`
    expect(partsOf(text).gathered[1]).toBe(
      lines(
        'SELECT t3.`id` AS c2000005',
        "FROM (SELECT `id` AS `id`, JSONExtract(properties, {p1:String}, 'Nullable(String)') AS m1 FROM `persons` FINAL WHERE project_id = 1) AS t3",
        'WHERE equals(t3.m1, {p2:String})',
      ),
    )
  })

  test('groups before it leaves out groups by folded rows', () => {
    const text = `with walked as (select path_steps(path_timeline(0)(timestamp, 4), '{}') as steps from events group by distinct_id)
      select number, any(event) from (select event, path_item(event) as number from events)
      where number in (select toInt(arrayJoin(steps)) from walked) group by number`
    const { gathered, rest } = partsOf(text)
    expect(gathered).toHaveLength(2)
    expect(gathered[0]).toEndWith('AS t2 GROUP BY t2.`c2`')
    expect(rest).toContain('WHERE (t2000001."c2000002" IN (SELECT')
  })

  test('without tables reads no file; one without a fold is not parted', () => {
    expect(partsOf("select funnel_steps([1.0], '{}')").gathered).toEqual([])
    const plain = compileHogQL('select event from events', CONTEXT, clickhouseDialect(PLAIN_STATE))
    expect(plain.gather_statements).toBeUndefined()
  })
})
