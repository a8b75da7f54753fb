/** What a query means is found without a word of any engine: passes and printer choose them, others could. */

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { analyzeQuery } from '../../src/hogql/compile.ts'
import { parseSelect } from '../../src/hogql/parser/parser.ts'
import { mapStatement } from '../../src/hogql/passes/walk.ts'
import type { ResolvedExpr } from '../../src/hogql/sql/ir.ts'
import { RESOURCE_NAMES } from '../../src/hogql/tables/resources.ts'
import { TABLES } from '../../src/hogql/tables/tables.ts'
import { readPassCases, readTable } from './cases.ts'
import { CONTEXT } from './engine.ts'

/** Kinds of expressions that only passes make. */
const LOWERED: ReadonlySet<ResolvedExpr['kind']> = new Set(['aggregate', 'fragment'])

function engineWords(query: string): readonly string[] {
  const { statement } = analyzeQuery(parseSelect(query), CONTEXT)
  const found: string[] = []
  mapStatement(statement, {
    expr: (expr) => {
      if (LOWERED.has(expr.kind)) found.push(JSON.stringify(expr, (_, v) => String(v) && v, 0))
      return expr
    },
  })
  return found
}

const WRITTEN = [
  ...[
    'joins',
    'sessions',
    'lower-properties',
    'cohorts',
    'fill-gaps',
    'expand-pivots',
    'append-totals',
    'remove-any-joins',
    'loosen-group-keys',
    'wrap-ties',
  ].flatMap((name) => readPassCases(name).map(({ hogql }) => hogql)),
  ...readTable('queries').map(([query]) => query),
  ...readFileSync(new URL('../oracle/queries.tsv', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t')[0] ?? ''),
]

describe('the meaning of a query', () => {
  test('is asked of many', () => {
    expect(WRITTEN.length).toBeGreaterThan(300)
  })

  test.each(WRITTEN)('%s', (query) => {
    expect(engineWords(query)).toEqual([])
  })

  test.each([...TABLES.keys(), ...RESOURCE_NAMES])('holds for every column of %s', (name) => {
    expect(engineWords(`select * from ${name}`)).toEqual([])
  })
})
