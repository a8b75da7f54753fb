/** What a compilation hands over: names, types, canonical text, page, relations, placeholders. */

import { describe, expect, test } from 'bun:test'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { withFormNames } from '../query/handwritten-sql.ts'
import { CONTEXT } from './engine.ts'

function compiled(text: string): ReturnType<typeof compileHogQL> {
  return compileHogQL(text, CONTEXT)
}

describe('compileHogQL', () => {
  test('columns are named by alias, last part of the field, or canonical text', () => {
    const text =
      'select event, properties.$os, person.properties.email, count() as c, 1 + 2, count() from events group by 1, 2, 3'
    expect(compiled(text).columns).toEqual(['event', '$os', 'email', 'c', 'plus(1, 2)', 'count()'])
  })

  test('star names every column of the table', () => {
    expect(compiled('select * from person_distinct_ids').columns).toEqual([
      'distinct_id',
      'person_id',
    ])
    expect(compiled('select * from events').columns).toEqual([
      'uuid',
      'event',
      'properties',
      'timestamp',
      'distinct_id',
      'elements_chain',
      'created_at',
      '$session_id',
      '$window_id',
      '$group_0',
      '$group_1',
      '$group_2',
      '$group_3',
      '$group_4',
      'elements_chain_href',
      'elements_chain_texts',
      'elements_chain_ids',
      'elements_chain_elements',
      'person_mode',
    ])
    expect(
      compiled('select * exclude (properties, created_at), 1 as one from persons').columns,
    ).toEqual(['id', 'is_identified', 'one'])
    expect(compiled("select columns('^(is_|id)') from persons").columns).toEqual([
      'id',
      'is_identified',
    ])
  })

  test('types are ClickHouse names', () => {
    const text =
      'select uuid, timestamp, properties.price, properties.paid, properties.x, toDate(timestamp), count() over (), event = 1 from events'
    expect(compiled(text).types).toEqual([
      'UUID',
      "DateTime64(6, 'UTC')",
      'Nullable(Float64)',
      'Nullable(Bool)',
      'Nullable(String)',
      'Date',
      'UInt64',
      'UInt8',
    ])
  })

  test('the page is there when the text has no LIMIT', () => {
    const pageOf = (text: string): readonly (number | null)[] => {
      const { limit, offset } = compiled(text)
      return [limit, offset]
    }
    expect(pageOf('select event from events')).toEqual([100, 0])
    expect(pageOf('select event from events offset 20')).toEqual([100, 20])
    expect(pageOf('select event from events limit 5')).toEqual([null, null])
    expect(pageOf('select event from (select event from events limit 5)')).toEqual([100, 0])
  })

  test('limits can be set by the caller', () => {
    const { limit, values } = compileHogQL('select 1', {
      ...CONTEXT,
      limits: { rows_default: 10, rows_max: 20 },
    })
    expect(limit).toBe(10)
    expect(values).toContainEqual({ type: 'BIGINT', value: 11n })
  })

  test('reads names the relations behind, joined ones too', () => {
    expect(compiled('select 1').reads.relations).toEqual([])
    expect(compiled('select event from events').reads.relations).toEqual(['events'])
    expect(compiled('select person_id from events').reads.relations).toEqual([
      'events',
      'person_overrides',
    ])
    expect(compiled('select person.properties.x, group_0.key from events').reads.relations).toEqual(
      ['events', 'groups', 'person_overrides', 'persons'],
    )
    expect(
      compiled('with a as (select 1 from persons) select pdi.distinct_id from events').reads
        .relations,
    ).toEqual(['events', 'person_distinct_ids'])
  })

  test('hogql is the canonical text', () => {
    expect(compiled("select   event as e from events where event='a' -- x").hogql).toBe(
      "SELECT event AS e FROM events WHERE equals(event, 'a')",
    )
  })

  test('placeholders are values', () => {
    const values = new Map<string, null | boolean | number | string | string[]>([
      ['name', "it's"],
      ['list', ['a', 'b']],
      ['variables.n', 7],
      ['none', null],
    ])
    const {
      sql,
      reads,
      values: bound,
    } = compileHogQL(
      'select {name}, {variables.n}, {none} from events where event in {list} and {filters}',
      { ...CONTEXT, values },
    )
    expect(withFormNames(sql, reads)).toBe(
      'SELECT $1::VARCHAR AS c1, $2::BIGINT AS c2, NULL AS c3 FROM events_lean_of($3::BIGINT) AS t1 WHERE ((t1."event" IN ($4::VARCHAR, $5::VARCHAR)) AND TRUE) LIMIT $6::BIGINT',
    )
    expect(bound).toEqual([
      { type: 'VARCHAR', value: "it's" },
      { type: 'BIGINT', value: 7n },
      { type: 'BIGINT', value: 1n },
      { type: 'VARCHAR', value: 'a' },
      { type: 'VARCHAR', value: 'b' },
      { type: 'BIGINT', value: 101n },
    ])
  })

  test('equal values share a parameter, the project never shares its own', () => {
    const { sql, reads, values } = compiled(
      "select 1, 1.0, '1', true from events where event = '1' limit 1",
    )
    expect(withFormNames(sql, reads)).toBe(
      'SELECT $1::BIGINT AS c1, $2::DOUBLE AS c2, $3::VARCHAR AS c3, TRUE AS c4 FROM events_lean_of($4::BIGINT) AS t1 WHERE (t1."event" = $3::VARCHAR) LIMIT $1::BIGINT',
    )
    expect(values).toEqual([
      { type: 'BIGINT', value: 1n },
      { type: 'DOUBLE', value: 1 },
      { type: 'VARCHAR', value: '1' },
      { type: 'BIGINT', value: 1n },
    ])
  })

  test('the same text gives the same SQL', () => {
    const text = 'select person.properties.a, count() from events group by 1'
    expect(compiled(text)).toEqual(compiled(text))
  })
})
