/** Canonical HogQL: how trees are spelled, and that what is spelled reads back. */

import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Refusal } from '../../../src/errors.ts'
import { LIMITS } from '../../../src/hogql/parser/cursor.ts'
import { parseExpr, parseSelect } from '../../../src/hogql/parser/parser.ts'
import { printHogQL } from '../../../src/hogql/print-hogql/print-hogql.ts'
import type { Expr, Select } from '../../../src/hogql/syntax/ast.ts'
import { randomRuns } from '../../random-runs.ts'
import { anyExpr, anySelect, asFunctions, withoutPlaces } from '../trees.ts'

describe('printHogQL', () => {
  test.each([
    ['1 + 2', 'plus(1, 2)'],
    ['a - b * c / d % e', 'minus(a, modulo(divide(multiply(b, c), d), e))'],
    ['count()', 'count()'],
    ["event = 'x' and not a or b", "or(and(equals(event, 'x'), not(a)), b)"],
    ['a is null and b is not null', 'and(isNull(a), isNotNull(b))'],
    ['a != b', 'notEquals(a, b)'],
    ["a not ilike '%x'", "notILike(a, '%x')"],
    ["a =~ 'x' and a !~* 'y'", "and(a =~ 'x', a !~* 'y')"],
    ['a in (1, 2)', 'in(a, tuple(1, 2))'],
    ["a not in cohort 'Staff'", "a NOT IN COHORT 'Staff'"],
    ['a between 1 and b + 1', 'a BETWEEN 1 AND plus(b, 1)'],
    ['a <=> b', 'a IS NOT DISTINCT FROM b'],
    ['a ?? b', 'ifNull(a, b)'],
    ['a ? b : c', 'if(a, b, c)'],
    ['case when a then b end', 'if(a, b, NULL)'],
    ['interval 7 day', 'toIntervalDay(7)'],
    ['arrayMap((x, y) -> x + y, a, b)', 'arrayMap((x, y) -> plus(x, y), a, b)'],
    ['f(1, (x) -> x)', 'f(1, (x) -> x)'],
    ['[1, 2.0, -3, 1e100, inf, nan]', '[1, 2.0, -3, 1e+100, inf, nan]'],
    ["'it''s\\n\\\\'", "'it\\'s\\n\\\\'"],
    ['`weird name`.x.`from`', '`weird name`.x.from'],
    ['`from` + `true`', 'plus(`from`, `true`)'],
    ["properties.$x['a b'][1].2", "properties.$x['a b'][1].2"],
    ['a?.b?.[c]?.1', "a?.['b']?.[c]?.1"],
    ['x::Nullable(String)', 'CAST(x AS nullable(string))'],
    ['quantile(0.5)(distinct a)', 'quantile(0.5)(DISTINCT a)'],
    ['f(a order by b) filter (where c)', 'f(a ORDER BY b ASC) FILTER (WHERE c)'],
    ['p(0.5) within group (order by a desc)', 'p(0.5) WITHIN GROUP (ORDER BY a DESC)'],
    [
      'sum(a) over (partition by b order by c rows between 1 preceding and current row)',
      'sum(a) OVER (PARTITION BY b ORDER BY c ASC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)',
    ],
    ["{'k': v}", "{'k': v}"],
    ["<a b='c' d={e}>text {f}<g/></a>", "<a b='c' d={e}>{'text '}{f}{<g />}</a>"],
    ['(select 1)', 'SELECT 1'],
    ['f((select 1))', 'f((SELECT 1))'],
  ])('%s prints as %s', (text, printed) => {
    expect(printHogQL(parseExpr(text))).toBe(printed)
  })

  test.each([
    [
      "select event, count() c from events e where event != 'x' group by 1 order by c desc limit 5 offset 2",
      "SELECT event, count() AS c FROM events AS e WHERE notEquals(event, 'x') GROUP BY 1 ORDER BY c DESC LIMIT 5 OFFSET 2",
    ],
    [
      'with a as (select 1), 2 as b select distinct * from a, c final left join d sample 1/10 using (x, y)',
      'WITH a AS (SELECT 1), 2 AS b SELECT DISTINCT * FROM a CROSS JOIN c FINAL LEFT JOIN d SAMPLE 1/10 USING (x, y)',
    ],
    [
      'with recursive r(n) as (values (1) union all select n + 1 from r) select n from r',
      'WITH RECURSIVE r(n) AS ((VALUES (1)) UNION ALL SELECT plus(n, 1) FROM r) SELECT n FROM r',
    ],
    [
      'select a from b array join c as d prewhere e group by rollup(a) with totals having f qualify g window w as (order by h)',
      'SELECT a FROM b ARRAY JOIN c AS d PREWHERE e GROUP BY ROLLUP(a) WITH TOTALS HAVING f QUALIFY g WINDOW w AS (ORDER BY h ASC)',
    ],
    [
      "select a from b order by a desc nulls last collate 'en' with fill from 1 to 9 step 2 interpolate (c as d) limit 1, 2 by a limit 3 % with ties",
      "SELECT a FROM b ORDER BY a DESC NULLS LAST COLLATE 'en' WITH FILL FROM 1 TO 9 STEP 2 INTERPOLATE (c AS d) LIMIT 2 OFFSET 1 BY a LIMIT 3 % WITH TIES",
    ],
    [
      'select 1 union all (select 2 limit 1) except select 3',
      'SELECT 1 UNION ALL (SELECT 2 LIMIT 1) EXCEPT SELECT 3',
    ],
    ['(select 1 limit 2) limit 3', '(SELECT 1 LIMIT 2) LIMIT 3'],
    [
      'select * from (values (1, 2)) as t(a, b) pivot (sum(a) as s for b in (2 as two) group by c)',
      'SELECT * FROM (VALUES (1, 2)) AS t(a, b) PIVOT (sum(a) AS s FOR b IN (2 AS two) GROUP BY c)',
    ],
    [
      'select * from wide unpivot include nulls (v for n in (a, b))',
      'SELECT * FROM wide UNPIVOT INCLUDE NULLS (v FOR n IN (a, b))',
    ],
    [
      'select t.* exclude (a, b.c), columns(d) from t',
      'SELECT t.* EXCLUDE (a, b.c), COLUMNS(d) FROM t',
    ],
    [
      'select 1 from a group by grouping sets ((b, c), ()) offset 3',
      'SELECT 1 FROM a GROUP BY GROUPING SETS ((b, c), ()) OFFSET 3',
    ],
  ])('%s prints as %s', (text, printed) => {
    expect(printHogQL(parseSelect(text))).toBe(printed)
    expect(printHogQL(parseSelect(printed))).toBe(printed)
  })

  test('a chain of thousands of terms prints', () => {
    const printed = printHogQL(parseExpr(`a${' + a'.repeat(9_000)}`))
    expect(printed.length).toBe(9_000 * 'plus(, a)'.length + 1)
  })
})

/** Trees now and then are large, and machines now and then are busy. */
const SLOW_MS = 60_000

const DEEP = { ...LIMITS, depth_max: 1_000, text_length_max: 2 ** 24 }

/** What is printed, read back. */
function reread(tree: Expr | Select): Expr | Select {
  const is_select = tree.kind === 'SelectQuery' || tree.kind === 'SelectSetQuery'
  return is_select ? parseSelect(printHogQL(tree), DEEP) : parseExpr(printHogQL(tree), DEEP)
}

/** The selects of the corpus. */
const corpus: readonly string[] = await readCorpus([
  'queries',
  'clauses',
  'joins',
  'sets',
  'tables',
])

async function readCorpus(names: readonly string[]): Promise<string[]> {
  const files = names.map((name) => Bun.file(`${import.meta.dir}/corpus/${name}.txt`).text())
  const texts = await Promise.all(files)
  return texts.flatMap((text) => text.split('\n')).filter((line) => line !== '')
}

/** Words, texts, spaces and single symbols. */
function cut(text: string): string[] {
  return text.match(/\s+|[\w$]+|'[^']*'|[^\w\s]/g) ?? []
}

function parseOrNull(text: string): Select | null {
  try {
    return parseSelect(text)
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

describe('laws of printing', () => {
  const trees = fc.oneof(anyExpr, anySelect)

  test(
    'what is printed reads back as the same tree, operators as functions',
    () => {
      const law = fc.property(trees, (tree) => {
        const again = reread(tree)
        expect(withoutPlaces(asFunctions(again))).toEqual(withoutPlaces(asFunctions(tree)))
      })
      fc.assert(law, randomRuns(150))
    },
    SLOW_MS,
  )

  test(
    'printing, reading and printing again changes nothing',
    () => {
      const law = fc.property(trees, (tree) => {
        expect(printHogQL(reread(tree))).toBe(printHogQL(tree))
      })
      fc.assert(law, randomRuns(80))
    },
    SLOW_MS,
  )

  test(
    'corpus texts with pieces lost, doubled and exchanged are refused or print stably',
    () => {
      const pieces = fc.constantFrom(...corpus.flatMap(cut))
      const mutated = fc
        .tuple(
          fc.constantFrom(...corpus),
          fc.array(fc.tuple(fc.nat(), pieces, fc.nat(2)), { maxLength: 3 }),
        )
        .map(([text, changes]) => {
          const parts = cut(text)
          for (const [place, piece, kept] of changes)
            parts.splice(place % parts.length, kept, piece)
          return parts.join('')
        })
      const law = fc.property(mutated, (text) => {
        const tree = parseOrNull(text)
        if (tree !== null) expect(printHogQL(reread(tree))).toBe(printHogQL(tree))
      })
      fc.assert(law, randomRuns(400))
    },
    SLOW_MS,
  )

  test.each(corpus)('%s prints as something that reads back as itself', (text) => {
    const tree = parseSelect(text)
    expect(printHogQL(reread(tree))).toBe(printHogQL(tree))
  })
})
