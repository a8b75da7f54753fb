/** What the engine makes of macros that use an argument several times: derived from their texts, and refused when it is too much. */

import { expect, test } from 'bun:test'
import { DuckDBInstance } from '@duckdb/node-api'
import macro_texts from '../../../sql/duckdb/macros.sql' with { type: 'text' }
import { compileHogQL } from '../../../src/hogql/compile.ts'
import type { Pieces } from '../../../src/hogql/sql/ir.ts'
import { copiesByFragment, copiesByMacro } from '../../../src/hogql/sql/macro-copies.ts'
import { CONTEXT } from '../engine.ts'

const pieces = (...texts: readonly string[]) => ({ pieces: texts as unknown as Pieces })

test('a macro uses its arguments as often as its text does', () => {
  expect(copiesByMacro('ch_substring')).toEqual([7, 8, 5])
  // Through another macro: ch_domain asks four times for ch_host, which reads its argument four times.
  expect(copiesByMacro('ch_domain')).toEqual([16])
  expect(copiesByMacro('nullif')).toEqual([2, 1])
  expect(copiesByMacro('lower')).toBeNull()
})

test('every macro of ours is read, and none uses an argument that it does not name', () => {
  const names = [...macro_texts.matchAll(/^create or replace macro (\w+)/gm)].flatMap(
    ([, name]) => name ?? [],
  )
  expect(names.length).toBeGreaterThan(150)
  for (const name of names) {
    expect([name, copiesByMacro(name)?.every((times) => times > 0)]).toEqual([name, true])
  }
})

test('an argument in a fragment counts as often as the macros around it use it', () => {
  expect(copiesByFragment(pieces('lower(', ')'))).toEqual([1])
  expect(copiesByFragment(pieces('nullif(', ', ', ')'))).toEqual([2, 1])
  expect(copiesByFragment(pieces('nullif(nullif(', ", ''), ", ')'))).toEqual([4, 1])
  expect(copiesByFragment(pieces("nullif(f([', ,(', ", ", 1]), 'it''s' || ", ')'))).toEqual([2, 1])
})

test('macros of the engine that use an argument twice are known, if the compiler prints them', async () => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const reader = await connection.runAndReadAll(
    `select function_name::varchar, parameters::varchar[], macro_definition::varchar from duckdb_functions()
    where function_type = 'macro' and schema_name in ('main', 'pg_catalog')`,
  )
  const glob = new Bun.Glob('src/hogql/**/*.ts')
  const sources = await Promise.all([...glob.scanSync('.')].map((path) => Bun.file(path).text()))
  const text = [macro_texts, ...sources].join('\n')
  const rows = reader.getRowsJson() as unknown as readonly (readonly [string, string[], string])[]
  const unknown = rows.flatMap(([name, params, definition]) => {
    const is_copied = params.some(
      (param) => (definition.match(new RegExp(`\\b${param}\\b`, 'g')) ?? []).length > 1,
    )
    const is_printed = new RegExp(`\\b${name}\\(`).test(text)
    return is_copied && is_printed && copiesByMacro(name) === null ? [name] : []
  })
  connection.closeSync()
  instance.closeSync()
  expect(unknown).toEqual([])
})

const DEPTH = 12

test.each([
  ['substring(', "'abc'", ', 1, 2)'],
  ['cbrt(toFloat(', '27', '))'],
  ['round(', '2.5', ')'],
  ['asin(', '0.5', ')'],
  ['domain(', 'event', ')'],
  ['replaceOne(', 'event', ", 'l', 'L')"],
  ['intDiv(7, ', '2', ')'],
  ['tokens(toString(', 'event', '))'],
])('%s%s%s is refused, twelve times over', (before, inner, after) => {
  const nested = (depth: number) =>
    `select ${before.repeat(depth)}${inner}${after.repeat(depth)} from events`
  expect(() => compileHogQL(nested(DEPTH), CONTEXT)).toThrow('The query is too large')
  expect(compileHogQL(nested(2), CONTEXT).columns).toHaveLength(1)
})

test('a long statement is not refused for the macros that it calls once for each column', () => {
  const columns = Array.from({ length: 400 }, (_, index) => `substring(event, ${index + 1}, 2)`)
  expect(compileHogQL(`select ${columns.join(', ')} from events`, CONTEXT).columns).toHaveLength(
    400,
  )
})
