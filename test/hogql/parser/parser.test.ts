/** Our parser by itself: what it keeps, what it refuses and where, and that no text harms it. */

import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Refusal } from '../../../src/errors.ts'
import { LIMITS } from '../../../src/hogql/parser/cursor.ts'
import {
  parseExpr,
  parseOrderExpr,
  parseSelect,
  parseTemplate,
} from '../../../src/hogql/parser/parser.ts'
import type { Expr, Node } from '../../../src/hogql/syntax/ast.ts'
import { call, constant, field } from '../../../src/hogql/syntax/nodes.ts'
import { heightOf, mapExpr, mapSelect, visitNodes } from '../../../src/hogql/syntax/walk.ts'
import { codePoint } from '../../code-points.ts'
import { randomRuns } from '../../random-runs.ts'
import { withoutPlaces } from '../trees.ts'

/** The refusal of a text, or null when it parses. Anything else thrown fails the test. */
function refusalOf(parse: (text: string) => unknown, text: string): Refusal | null {
  try {
    parse(text)
    return null
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

describe('literals', () => {
  test.each([
    ['9007199254740993', 9007199254740993n],
    ['123456789012345678901234567890', 123456789012345678901234567890n],
    ['-9223372036854775808', -9223372036854775808n],
    ['0xFFFFFFFFFFFFFFFF', 18446744073709551615n],
    ['0b1010', 10n],
    ['017', 17n],
    ['1.0', 1],
    ['.5', 0.5],
    ['1e3', 1000],
    ['1e400', Infinity],
    ['-inf', -Infinity],
    ['0x1.8p1', 3],
    ["'it''s \\'quoted\\' \\\\ \\n'", "it's 'quoted' \\ \n"],
    ["'50\\%'", '50\\%'],
    ["'\\d+\\.\\w'", '\\d+\\.\\w'],
    ["'a\\0b'", 'a\0b'],
    ["'😀 é'", '😀 é'],
    ['true', true],
    ['NULL', null],
  ])('%s is exact', (text, value) => {
    const parsed = parseExpr(text)
    expect(parsed).toEqual(constant(value, { start: 0, end: text.length }))
  })

  test('nan is not a number', () => {
    const parsed = parseExpr('nan')
    expect(parsed.kind === 'Constant' && Number.isNaN(parsed.value)).toBe(true)
  })

  test('comments and every kind of space separate tokens', () => {
    const text = '\ufeff1\u00a0+ -- one\n2 /* two\n */ + // three\n3 # four\n+ 4'
    expect(withoutPlaces(parseExpr(text))).toEqual(withoutPlaces(parseExpr('1+2+3+4')))
  })

  test('names in quotes may hold anything', () => {
    const parsed = parseExpr('`a``b\\`c\nd`."x""y".`😀`')
    expect(parsed.kind === 'Field' && parsed.chain).toEqual(['a`b`c\nd', 'x"y', '😀'])
  })

  test('a template fills its holes', () => {
    const parts = [constant('Hi '), field(['a', 'b']), constant(", it's {x}\n")]
    const expected = withoutPlaces(call('concat', parts))
    expect(withoutPlaces(parseTemplate("Hi {a.b}, it's \\{x}\\n"))).toEqual(expected)
    expect(withoutPlaces(parseExpr("f'Hi {a.b}, it\\'s \\{x}\\n'"))).toEqual(expected)
    expect(withoutPlaces(parseTemplate(''))).toEqual(withoutPlaces(constant('')))
  })
})

describe('selects keep what they say', () => {
  test('LIMIT m, n is offset m and limit n', () => {
    expect(parseSelect('select 1 limit 5, 10')).toMatchObject({
      limit: { value: 10n },
      offset: { value: 5n },
    })
  })

  test('LIMIT BY and LIMIT stand side by side', () => {
    expect(parseSelect('select a from b limit 2 offset 1 by a limit 10 % with ties')).toMatchObject(
      {
        limit_by: { n: { value: 2n }, offset_value: { value: 1n }, exprs: [{ chain: ['a'] }] },
        limit: { value: 10n },
        limit_percent: true,
        limit_with_ties: true,
        offset: null,
      },
    )
  })

  test('a limit behind brackets does not replace the one inside', () => {
    expect(parseSelect('(select 1 limit 2) limit 3')).toMatchObject({
      kind: 'SelectSetQuery',
      initial_select_query: { limit: { value: 2n } },
      subsequent_select_queries: [],
      limit: { value: 3n },
    })
    expect(parseSelect('(select 1) limit 3')).toMatchObject({
      kind: 'SelectQuery',
      limit: { value: 3n },
    })
  })

  test('totals, rollups, nulls, collations, IGNORE NULLS and NATURAL are kept', () => {
    const text =
      "select any(a) ignore nulls from b natural left join c group by a with rollup with totals order by a desc nulls last collate 'en'"
    expect(parseSelect(text)).toMatchObject({
      select: [{ kind: 'Call', ignore_nulls: true }],
      select_from: { next_join: { join_type: 'LEFT JOIN', natural: true } },
      group_by_mode: 'rollup',
      with_totals: true,
      order_by: [{ order: 'DESC', nulls: 'LAST', collate: 'en' }],
    })
  })

  test('the table of t.* EXCLUDE and the parameters of a type are kept', () => {
    const parsed = parseSelect("select t.* exclude (a), x::Array(DateTime64(3, 'UTC')) from t")
    expect(parsed).toMatchObject({
      select: [
        { kind: 'ColumnsExpr', table: ['t'], exclude: ['a'] },
        { kind: 'TypeCast', type_name: "array(datetime64(3, 'UTC'))" },
      ],
    })
  })

  test('words of the language are names where nothing else can be meant', () => {
    const text = 'select date, timestamp as first, e.order, `from`, end, t.select from range as key'
    expect(parseSelect(text)).toMatchObject({
      select: [
        { chain: ['date'] },
        { alias: 'first', expr: { chain: ['timestamp'] } },
        { chain: ['e', 'order'] },
        { chain: ['from'] },
        { chain: ['end'] },
        { chain: ['t', 'select'] },
      ],
      select_from: { table: { chain: ['range'] }, alias: 'key' },
    })
  })

  test('one item of an order', () => {
    expect(parseOrderExpr('count() desc')).toMatchObject({ order: 'DESC', expr: { name: 'count' } })
  })
})

describe('refusals', () => {
  test.each([
    ['select', [6, 6], 'Line 1, column 7: expected an expression, found the end of the query.'],
    ['select from a', [7, 11], 'Line 1, column 8: expected an expression, found "from".'],
    [
      'select a,\n  b c d\nfrom e',
      [16, 17],
      'Line 2, column 7: expected the end of the query, found "d".',
    ],
    [
      'select (1',
      [9, 9],
      'Line 1, column 10: expected ")" or "," after the expression, found the end of the query.',
    ],
    ['select 1)', [8, 9], 'Line 1, column 9: expected an opening bracket before it, found ")".'],
    ["select 'abc", [7, 11], "Line 1, column 8: the text opened here has no closing '."],
    ['select `abc', [7, 11], 'Line 1, column 8: the text opened here has no closing `.'],
    ['select 1 /* x', [9, 13], 'Line 1, column 10: the comment opened here has no "*/".'],
    [
      "select f'a{b",
      [12, 12],
      'Line 1, column 13: expected "}" after the expression in the text, found the end of the query.',
    ],
    [
      'select 1; select 2',
      [10, 16],
      'Line 1, column 11: expected the end of the query, found "select".',
    ],
    ['select a ^ b', [9, 10], 'Line 1, column 10: the character "^" has no meaning here.'],
    ['select "😀", 😀', [13, 15], 'Line 1, column 14: the character "😀" has no meaning here.'],
    ['insert into a values (1)', [0, 6], 'Line 1, column 1: expected SELECT, found "insert".'],
    [
      'select a as true',
      [12, 16],
      'Line 1, column 13: "true" is reserved and cannot be used as an alias.',
    ],
    [
      'select 1 as team_id',
      [12, 19],
      'Line 1, column 13: "team_id" is reserved and cannot be used as an alias.',
    ],
    ['select top 5 a', [7, 10], 'Line 1, column 8: TOP does not exist in HogQL; use LIMIT.'],
    [
      "select date '2024-01-01'",
      [7, 11],
      "Line 1, column 8: date '…' does not exist in HogQL; use toDate('…').",
    ],
    [
      'select a from b settings x = 1',
      [16, 24],
      'Line 1, column 17: expected the end of the query, found "settings". SETTINGS cannot be given in a query.',
    ],
    [
      'select a where b from c',
      [17, 21],
      'Line 1, column 18: FROM stands twice or out of order; the order is SELECT, FROM, ARRAY JOIN, PREWHERE, WHERE, GROUP BY, WITH, HAVING, QUALIFY, WINDOW, ORDER BY, INTERPOLATE, LIMIT.',
    ],
    [
      'select a from b array join c',
      [27, 28],
      'Line 1, column 28: the arrays of ARRAY JOIN must have an alias (array AS name).',
    ],
    ['select <a></b>', [12, 13], 'Line 1, column 13: the tag "a" is closed as "b".'],
    [
      "select interval '7 lightyears'",
      [16, 30],
      "Line 1, column 17: an interval in quotes reads like '7 days'.",
    ],
    [
      'select case a then b end',
      [14, 18],
      'Line 1, column 15: expected WHEN in CASE, found "then".',
    ],
    [
      'select a is b',
      [12, 13],
      'Line 1, column 13: expected NULL or DISTINCT FROM after IS, found "b".',
    ],
    ['', [0, 0], 'Line 1, column 1: expected SELECT, found the end of the query.'],
  ])('%s', (text, [start, end], message) => {
    const refusal = refusalOf(parseSelect, text)
    expect(refusal).toMatchObject({ code: 'invalid_input', attr: 'query', detail: message })
    expect(refusal?.span).toEqual({ start: start ?? 0, end: end ?? 0 })
  })
})

describe('what is not taken for something else', () => {
  test.each([
    ['select * from a left join (b join c on 1) on 2', 'joins in brackets can only stand first'],
    ['select distinct on (a) b from c', 'DISTINCT ON does not exist'],
    ['select * from a pivot (sum(x) for 1 in (2))', 'expected the name of a column'],
    ['select * from a sample 10%', 'found "%"'],
    ['select 0o17', 'the number is malformed'],
    ['select x::"no such type"', 'there is no type of this name'],
  ])('%s is refused', (text, detail) => {
    expect(refusalOf(parseSelect, text)?.detail).toContain(detail)
  })
})

describe('limits', () => {
  test.each([
    ['text_length_max', 20, 'select 1234567', 'select 123456789012345'],
    ['depth_max', 5, 'select ((1))', 'select ((((((1))))))'],
    ['nodes_max', 10, 'select 1, 2, 3', 'select 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11'],
    ['height_max', 6, 'select f(1)', 'select [[[[[[1]]]]]]'],
  ] as const)('%s of %i', (name, limit, within, beyond) => {
    const limits = { ...LIMITS, [name]: limit }
    expect(refusalOf((text) => parseSelect(text, limits), within)).toBeNull()
    expect(refusalOf((text) => parseSelect(text, limits), beyond)?.code).toBe('invalid_input')
  })

  test.each([
    ['AND', `a${' and a'.repeat(10_000)}`],
    ['OR', `a${' or a'.repeat(10_000)}`],
    ['||', `a${' || a'.repeat(10_000)}`],
    ['+', `a${' + a'.repeat(9_000)}`],
    ['mixed arithmetic', `a${' + a * 2 - 1'.repeat(3_000)}`],
    ['a list', `[${'1, '.repeat(10_000)}1]`],
    ['UNION ALL', `(select 1${' union all select 1'.repeat(5_000)})`],
  ])('a chain of thousands of %s parses and can be walked', (_name, text) => {
    const parsed = parseExpr(text)
    expect(heightOf(parsed)).toBeLessThan(10)
    let count = 0
    const same = mapExpr(parsed, (expr) => {
      count += 1
      return expr
    })
    expect(count).toBeGreaterThan(5_000)
    expect(heightOf(same)).toBe(heightOf(parsed))
  })

  const nested = (open: string, close: string): string =>
    `${open.repeat(5_000)}1${close.repeat(5_000)}`
  test.each([
    ['brackets', nested('(', ')')],
    ['calls', nested('f(', ')')],
    ['arrays', nested('[', ']')],
    ['dictionaries', nested("{'a': ", '}')],
    ['selects', nested('(select ', ')')],
    ['tables', `select 1 from ${nested('(', ')')}`],
    ['templates', "f'{".repeat(5_000)],
    ['tags', nested('<a>', '</a>')],
    ['holes of tags', nested('<a b={', '}/>')],
    ['types', `a::${'array('.repeat(5_000)}`],
    ['lambdas', 'x -> '.repeat(5_000)],
    ['NOT', `${'not '.repeat(5_000)}1`],
    ['minus', `${'- '.repeat(5_000)}x`],
    ['CASE', nested('case when ', ' then 1 end')],
    ['?', `a${' ? a'.repeat(5_000)}`],
    ['elements', `a${'[1]'.repeat(5_000)}`],
    ['casts', `a${'::int'.repeat(5_000)}`],
    ['comparisons', `a${' = a'.repeat(5_000)}`],
    ['aliases', `a${' as a'.repeat(5_000)}`],
    ['joins', `(select 1 from a${' join b on 1'.repeat(5_000)})`],
    ['a bit of everything', nested('(not f([{a: x -> -', '}])))')],
  ])('%s five thousand deep are refused', (_name, text) => {
    expect(refusalOf(parseExpr, text)).toMatchObject({ code: 'invalid_input', attr: 'query' })
  })

  test('many links on many levels are refused before walks overflow', () => {
    const text = `${'('.repeat(90)}a${`${'[1]'.repeat(90)})`.repeat(90)}`
    expect(refusalOf(parseExpr, text)?.detail).toContain('nested more than 1000 levels deep')
  })

  const million = 1_000_000
  test.each([
    ['a text', `'${'x'.repeat(million)}'`],
    ['quotes', `'${"''".repeat(million / 2)}'`],
    ['a name', 'a'.repeat(million)],
    ['spaces', `${' '.repeat(million)}1`],
    ['comments', `${'/**/'.repeat(million / 4)}1`],
    ['a list of names that is no lambda', `f(${'a, '.repeat(15_000)}1)`],
    ['lambdas', `f(${'x -> a, '.repeat(6_000)}1)`],
  ])('%s of great length parses', (_name, text) => {
    expect(refusalOf(parseExpr, text)).toBeNull()
  })

  test.each([
    ['text without an end', `'${'x'.repeat(million)}`],
    ['brackets', '('.repeat(million)],
    ['parts of a name', `a${'.a'.repeat(million / 2)}`],
    ['names', 'a,'.repeat(million / 2)],
    ['digits', '9'.repeat(million)],
    ['more than a megabyte', ' '.repeat(2 ** 20 + 1)],
  ])('a megabyte of %s is refused', (_name, text) => {
    expect(refusalOf(parseExpr, text)?.code).toBe('invalid_input')
  })

  test('half a character is refused', () => {
    expect(refusalOf(parseExpr, "'a\ud800'")).toMatchObject({ span: { start: 2, end: 3 } })
  })
})

/** Machines now and then are busy. */
const SLOW_MS = 60_000

/** Pieces that, thrown together, come near to the language. */
const PIECES = `
  select from where group by having order limit offset with as union all join left array on using window over partition
  case when then else end interval day cast not and or in like between is null distinct final sample prewhere qualify
  pivot unpivot values lambda columns cohort exclude a b.c x.1 \`q\` "r" 's' f'{ f'a' 1 2.5 .5 1e3 0x1F -1 ( ) [ ] { } , ;
  : :: := . ?. ? ?? -> + - * / % = == != < <= > >= <=> ~ =~ !~* || #1 # -- /* */ <a <b/> </a> /> é 😀 \\ ' \` "`
  .trim()
  .split(/\s+/)

describe('any text', () => {
  const entries = [parseSelect, parseExpr, parseOrderExpr, parseTemplate]

  test.each(entries)(
    '%p throws nothing but refusals that point into the text',
    (parse) => {
      const soup = fc.array(fc.constantFrom(...PIECES, '\n'), { maxLength: 60 })
      const texts = fc.oneof(
        fc.string({ unit: codePoint }),
        fc.string({ unit: 'grapheme' }),
        soup.map((pieces) => pieces.join(' ')),
        soup.map((pieces) => pieces.join('')),
        soup.map((pieces) => `select ${pieces.join(' ')} from a`),
      )
      const law = fc.property(texts, (text) => {
        const refusal = refusalOf(parse, text)
        if (refusal === null) return
        const { start = -1, end = -1 } = refusal.span ?? {}
        expect(0 <= start && start <= end && end <= text.length).toBe(true)
      })
      fc.assert(law, randomRuns(150))
    },
    SLOW_MS,
  )

  test(
    'a long soup of tokens parses or is refused',
    () => {
      const law = fc.property(
        fc.array(fc.constantFrom(...PIECES), { minLength: 2_000, maxLength: 9_000 }),
        (pieces) => {
          refusalOf(parseExpr, `f(${pieces.join(' ')})`)
          refusalOf(parseSelect, `select ${pieces.join(', ')}`)
        },
      )
      fc.assert(law, randomRuns(10))
    },
    SLOW_MS,
  )
})

/** Kinds whose piece of the text can stand alone. */
const STANDING = new Set<Node['kind']>([
  ...([
    'And',
    'ArithmeticOperation',
    'Array',
    'ArrayAccess',
    'BetweenExpr',
    'Call',
    'Dict',
  ] as const),
  ...([
    'CompareOperation',
    'Field',
    'Lambda',
    'Not',
    'Or',
    'SelectQuery',
    'Tuple',
    'TypeCast',
  ] as const),
])

describe('places', () => {
  test('the piece of text that a node points at reads as that node', async () => {
    let count = 0
    for (const name of ['queries', 'operators', 'access', 'lambdas', 'calls']) {
      const lines = (await Bun.file(`${import.meta.dir}/corpus/${name}.txt`).text()).split('\n')
      for (const text of lines.filter((line) => line !== '')) {
        visitNodes(name === 'queries' ? parseSelect(text) : parseExpr(text), (node) => {
          if (!STANDING.has(node.kind)) return
          const piece = text.slice(node.start, node.end)
          const again = node.kind === 'SelectQuery' ? parseSelect(piece) : parseExpr(piece)
          expect({ text, piece, node: withoutPlaces(again) }).toEqual({
            text,
            piece,
            node: withoutPlaces(node),
          })
          count += 1
        })
      }
    }
    expect(count).toBeGreaterThan(1_000)
  })
})

describe('walks', () => {
  const text =
    'with c as (select x from t) select x, f(x, (select x from c)) from e as x join (select x) on x = 1'

  test('mapExpr reaches every expression, selects inside included, and no names of tables', () => {
    const seen: string[] = []
    const mapped = mapExpr(parseSelect(text), (expr) => {
      if (expr.kind !== 'Field') return expr
      seen.push(expr.chain.join('.'))
      return { ...expr, chain: ['y'] }
    })
    expect(seen).toEqual(['x', 'x', 'x', 'x', 'x', 'x'])
    const expected = parseSelect(text.replaceAll(/\bx\b(?! join)/g, 'y'))
    expect(withoutPlaces(mapped)).toEqual(withoutPlaces(expected))
  })

  test('mapSelect reaches every select, the innermost first', () => {
    const tables: (string | null)[] = []
    mapSelect(parseSelect(text), (select) => {
      const table = select.select_from?.table
      tables.push(table?.kind === 'Field' ? table.chain.join('.') : null)
      return select
    })
    expect(tables).toEqual(['t', 'c', null, 'e'])
  })

  test('a rewrite that changes nothing changes nothing', () => {
    const parsed = parseSelect(text)
    expect(mapExpr(parsed, (expr: Expr) => expr)).toEqual(parsed)
    expect(mapSelect(parsed, (select) => select)).toEqual(parsed)
  })
})
