/** Trees written as text with holes: what callers send stays a tree, whatever it looks like. */
import { describe, expect, test } from 'bun:test'
import { constant, field } from '../../src/hogql/nodes.ts'
import { parseExpr, parseSelect } from '../../src/hogql/parser.ts'
import { printHogQL } from '../../src/hogql/print-hogql.ts'
import { written, writtenExpr } from '../../src/insights/written.ts'

describe('a text with holes', () => {
  test('takes expressions anywhere, and selects in FROM, also further down and in joins', () => {
    const tree = written(
      'select a, {x} as b from (select a from {rows} where {x} > 1) as one left join {rows} as two on one.a = two.a where {y}',
      {
        rows: parseSelect('select a from events where event = 1'),
        x: field(['n']),
        y: constant(true),
      },
    )
    const whole = parseSelect(
      'select a, n as b from (select a from (select a from events where event = 1) where n > 1) as one left join (select a from events where event = 1) as two on one.a = two.a where true',
    )
    expect(printHogQL(tree)).toBe(printHogQL(whole))
  })

  test('does not look for holes in what it was given', () => {
    const sent = parseExpr('a = {x} or b in (select {y} from events)')
    const tree = writtenExpr('not({x})', { x: sent, y: constant(1n) })
    expect(printHogQL(tree)).toBe(
      printHogQL(parseExpr('not(a = {x} or b in (select {y} from events))')),
    )
    expect(writtenExpr('{x}', { x: sent })).toBe(sent)
  })

  test.each([
    ['select {a}', {}],
    ['select {toString}', {}],
    ['select 1 from {a}', { a: constant(1n) }],
    ['select 1 union all select 2', {}],
  ])('%s with what does not fit is a fault of ours', (text, parts) => {
    expect(() => written(text, parts)).toThrow(Error)
  })
})
