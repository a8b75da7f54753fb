/** HogQL queries that grow: each construct of the language, doubled. */
import { memoizeValue } from '../../src/memoize.ts'
import { type Attack, BODY_LENGTH_MAX, doubled, type Sent } from './attack.ts'

const many = (count: number, part: string | ((index: number) => string), between = ', '): string =>
  Array.from({ length: count }, (_, index) => (typeof part === 'string' ? part : part(index))).join(
    between,
  )

const nested = (count: number, before: string, inner: string, after: string): string =>
  before.repeat(count) + inner + after.repeat(count)

/** A query of a size, by the construct that grows. */
const CONSTRUCTS: Readonly<Record<string, (size: number) => string>> = {
  columns: (n) => `select ${many(n, 'event')} from events`,
  'columns under names': (n) => `select ${many(n, (i) => `event as e${i}`)} from events`,
  'names of names': (n) => `select 1 as a0, ${many(n, (i) => `a${i} as a${i + 1}`)}`,
  'names that double': (n) => `select 1 as a0, ${many(n, (i) => `a${i} + a${i} as a${i + 1}`)}`,
  stars: (n) => `select ${many(n, '*')} from events`,
  'stars in unions': (n) =>
    many(Math.ceil(n / 64), `select ${many(64, '*')} from events`, ' union all '),
  'stars of joins': (n) =>
    `select * from events e0 ${many(n, (i) => `join events e${i + 1} on 1 = 1`, ' ')}`,
  'stars of nested selects': (n) =>
    `select * from ${nested(n, '(select *, * from ', 'events', ')')}`,
  'COLUMNS of a pattern': (n) => `select COLUMNS('${'a'.repeat(n)}') from events`,
  'COLUMNS of a heavy pattern': (n) => `select COLUMNS('${'(a|b|ab)*'.repeat(n)}c') from events`,
  'COLUMNS over a long alias': (n) =>
    `select COLUMNS('(x+x+)+y') from (select 1 as ${'x'.repeat(n)})`,
  unions: (n) => many(n, 'select 1', ' union all '),
  'unions of columns': (n) => many(n, 'select event, uuid, timestamp from events', ' union all '),
  'expressions with WITH': (n) =>
    `with ${many(n, (i) => `${i === 0 ? '1' : `c${i - 1} + c${i - 1}`} as c${i}`)} select c${n - 1}`,
  'selects with WITH': (n) =>
    `with ${many(n, (i) => `t${i} as (select * from ${i === 0 ? 'events' : `t${i - 1}`})`)} select * from t${n - 1}`,
  'selects with WITH, doubled': (n) =>
    `with ${many(n, (i) => `t${i} as (select ${i === 0 ? '1 as a' : `l.a from t${i - 1} l join t${i - 1} r on 1 = 1`})`)} select * from t${n - 1}`,
  parentheses: (n) => `select ${nested(n, '(', '1', ')')}`,
  'nested selects': (n) => `select * from ${nested(n, '(select * from ', 'events', ')')}`,
  'nested scalars': (n) => `select ${nested(n, '(select ', '1', ')')}`,
  calls: (n) => `select ${nested(n, 'lower(', "'a'", ')')}`,
  arguments: (n) => `select concat(${many(n, "'a'")})`,
  'arguments of coalesce': (n) => `select coalesce(${many(n, 'properties.a')}) from events`,
  sums: (n) => `select ${many(n, '1', ' + ')}`,
  ands: (n) => `select 1 from events where ${many(n, "event = 'a'", ' and ')}`,
  'ors of different': (n) =>
    `select 1 from events where ${many(n, (i) => `event = 'a${i}'`, ' or ')}`,
  nots: (n) => `select ${'not '.repeat(n)}1`,
  minuses: (n) => `select ${'- '.repeat(n)}1`,
  'in a list': (n) => `select 1 from events where event in (${many(n, (i) => `'a${i}'`)})`,
  'in numbers': (n) => `select 1 from events where properties.n in (${many(n, String)})`,
  arrays: (n) => `select [${many(n, '1')}]`,
  'arrays of texts': (n) => `select [${many(n, (i) => `'${i}'`)}]`,
  'nested arrays': (n) => `select ${nested(n, '[', '1', ']')}`,
  tuples: (n) => `select (${many(n, '1')})`,
  'nested tuples': (n) => `select ${nested(n, '(1, ', '1', ')')}`,
  'array accesses': (n) => `select properties${'[1]'.repeat(n)} from events`,
  'property paths': (n) => `select properties${'.a'.repeat(n)} from events`,
  'different properties': (n) => `select ${many(n, (i) => `properties.p${i}`)} from events`,
  'person properties': (n) => `select ${many(n, (i) => `person.properties.p${i}`)} from events`,
  'a long property': (n) => `select properties.${'a'.repeat(n)} from events`,
  'a long text': (n) => `select '${'a'.repeat(n)}'`,
  'a text of escapes': (n) => String.raw`select '${"\\'".repeat(n)}'`,
  'a long number': (n) => `select ${'1'.repeat(n)}`,
  'a long fraction': (n) => `select 1.${'1'.repeat(n)}`,
  'a long name': (n) => `select ${'a'.repeat(n)} from events`,
  'a quoted name': (n) => `select \`${'a'.repeat(n)}\` from events`,
  'a long function': (n) => `select ${'a'.repeat(n)}(1)`,
  comments: (n) => `select 1 ${'/* a */'.repeat(n)}`,
  'a comment that stays open': (n) => `select 1 ${'/*'.repeat(n)}`,
  'line comments': (n) => `select 1 ${'-- a\n'.repeat(n)}`,
  blanks: (n) => `select${' '.repeat(n)}1`,
  quotes: (n) => `select ${"'".repeat(n)}`,
  'opened brackets': (n) => `select ${'('.repeat(n)}`,
  'opened cases': (n) => `select ${'case when 1 then '.repeat(n)}`,
  dots: (n) => `select ${'.'.repeat(n)}`,
  braces: (n) => `select ${'{'.repeat(n)}`,
  tags: (n) => `select ${'<a b={1}>'.repeat(n)}`,
  'nested tags': (n) => `select ${nested(n, '<a>', '', '</a>')}`,
  ternaries: (n) => `select ${'1 ? 2 : '.repeat(n)}3`,
  cases: (n) => `select case ${many(n, (i) => `when ${i} then ${i}`, ' ')} end`,
  'nested cases': (n) => `select ${nested(n, 'case when 1 then ', '1', ' end')}`,
  ifs: (n) => `select ${nested(n, 'if(1, ', '1', ', 2)')}`,
  multiIf: (n) => `select multiIf(${many(n, (i) => `event = '${i}', ${i}`)}, 0) from events`,
  lambdas: (n) => `select ${nested(n, 'arrayMap(x -> ', '1', ', [1])')}`,
  'lambdas with parameters': (n) =>
    `select arrayMap((${many(n, (i) => `x${i}`)}) -> 1, ${many(n, '[1]')})`,
  casts: (n) => `select 1${'::Int64'.repeat(n)}`,
  'nested types': (n) => `select cast(1 as ${nested(n, 'Array(', 'Int64', ')')})`,
  betweens: (n) => `select 1 where ${many(n, '1 between 0 and 2', ' and ')}`,
  likes: (n) => `select 1 from events where ${many(n, "event like '%a%'", ' or ')}`,
  'a like of percents': (n) => `select 'aaaa' like '${'%a'.repeat(n)}'`,
  'a heavy pattern': (n) => `select match('aaaa', '${'(a|b)*'.repeat(n)}')`,
  'a pattern with repetitions': (n) =>
    `select match(event, '${'(a{1,50})'.repeat(n)}') from events`,
  replacements: (n) => `select replaceRegexpAll('aa', '${'(a)'.repeat(n)}', 'b')`,
  'a sequence': (n) =>
    `select sequenceMatch('${'(?1).*'.repeat(n)}')(timestamp, event = 'a') from events`,
  windows: (n) =>
    `select ${many(n, 'row_number() over (partition by event order by uuid)')} from events`,
  'named windows': (n) =>
    `select 1 from events window ${many(n, (i) => `w${i} as (order by uuid)`)}`,
  grouping: (n) => `select 1 from events group by ${many(n, (i) => `properties.g${i}`)}`,
  'grouping by names': (n) => `select event as e from events group by ${many(n, 'e')}`,
  cubes: (n) => `select 1 from events group by cube(${many(n, (i) => `properties.g${i}`)})`,
  ordering: (n) => `select 1 from events order by ${many(n, 'event')}`,
  joins: (n) =>
    `select 1 from events e ${many(n, (i) => `left join persons p${i} on p${i}.id = e.person_id`, ' ')}`,
  'comma joins': (n) => `select 1 from ${many(n, (i) => `events e${i}`)}`,
  'array joins': (n) => `select 1 from events array join ${many(n, (i) => `[1] as a${i}`)}`,
  aggregates: (n) => `select ${many(n, 'countIf(event = 1)')} from events`,
  combinators: (n) => `select sum${'If'.repeat(n)}(1, 1) from events`,
  'numbers(n)': (n) => `select count() from numbers(${n}) a cross join numbers(${n}) b`,
  values: (n) => `select * from (values ${many(n, '(1, 2)')})`,
  'a range': (n) => `select range(${n})`,
  repeat: (n) => `select repeat('${'a'.repeat(100)}', ${n})`,
  intervals: (n) => `select now() ${many(n, '- interval 1 day', ' ')}`,
  dates: (n) => `select ${many(n, "toDateTime('2026-01-01 00:00:00')")}`,
  settings: (n) => `select 1 settings ${many(n, (i) => `a${i} = 1`)}`,
  'except of stars': (n) => `select * except (${many(n, 'event')}) from events`,
  'replace of stars': (n) => `select * replace (${many(n, '1 as event')}) from events`,
  pivots: (n) => `select * from events pivot (count() for event in (${many(n, (i) => `'${i}'`)}))`,
  'formats of dates': (n) => `select formatDateTime(now(), '${'%Y'.repeat(n)}')`,
  'a format of percents': (n) => `select formatDateTime(now(), '${'%'.repeat(n)}')`,
  'JSON paths': (n) => `select JSONExtractString(properties, ${many(n, "'a'")}) from events`,
  cohorts: (n) => `select 1 from events where ${many(n, 'person_id in cohort 1', ' or ')}`,
  'order of members': (n) => `select ${nested(n, 'arraySort(x -> x, ', '[1, 2]', ')')}`,
  fills: (n) => `select 1 as a order by a with fill from 1 to ${n} step 1`,
  'limits by': (n) => `select event from events limit 1 by ${many(n, 'event')}`,
}

/** Sizes up to the first whose text is refused for its length alone. Texts only grow: longer ones are not made. */
function fittingSizes(of: (size: number) => string, size_max: number): readonly number[] {
  const sizes = doubled(16, size_max)
  const end = sizes.findIndex((size) => of(size).length >= BODY_LENGTH_MAX)
  return end === -1 ? sizes : sizes.slice(0, end)
}

function queryOf(query: string): Sent {
  const body = JSON.stringify({ query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' })
  return { method: 'POST', path: '/api/projects/1/query/', body }
}

/** An attack of the sizes that fit. They are found when it runs: the texts of all attacks take 2 s to make. */
function growingAttack(
  name: string,
  of: (size: number) => string,
  size_max: number,
  requestOf: (text: string) => Sent,
): Attack {
  const findSizes = memoizeValue(() => fittingSizes(of, size_max))
  return {
    name,
    get sizes() {
      return findSizes()
    },
    requests: (size) => [requestOf(of(size))],
  }
}

/** One attack for each construct; sizes end where the text is as long as a body may be. */
export const HOGQL_ATTACKS: readonly Attack[] = Object.entries(CONSTRUCTS).map(([name, of]) =>
  growingAttack(`HogQL: ${name}`, of, 512 * 1024, queryOf),
)

/** Formulas and other texts that the kinds of queries read, besides HogQL. */
export const KIND_ATTACKS: readonly Attack[] = [
  trendsAttack('series', (n) => ({ series: eventNodes(n) })),
  trendsAttack('a formula', (n) => ({
    series: eventNodes(2),
    trendsFilter: { formula: many(n, 'A', ' + ') },
  })),
  trendsAttack('a formula of brackets', (n) => ({
    series: eventNodes(2),
    trendsFilter: { formula: nested(n, '(', 'A', ')') },
  })),
  trendsAttack('formulas', (n) => ({
    series: eventNodes(2),
    trendsFilter: { formulaNodes: Array.from({ length: n }, () => ({ formula: 'A+B' })) },
  })),
  trendsAttack('properties', (n) => ({ series: eventNodes(1), properties: propertiesOf(n) })),
  trendsAttack('values of a property', (n) => ({
    series: eventNodes(1),
    properties: [
      { key: 'a', type: 'event', operator: 'exact', value: Array.from({ length: n }, String) },
    ],
  })),
  trendsAttack('a pattern', (n) => ({
    series: eventNodes(1),
    properties: [{ key: 'a', type: 'event', operator: 'regex', value: '(a|b)*'.repeat(n) }],
  })),
  trendsAttack('selectors', (n) => ({
    series: eventNodes(1),
    properties: [
      { key: 'selector', type: 'element', operator: 'exact', value: `a[b${' '.repeat(n)}` },
    ],
  })),
  trendsAttack('breakdowns', (n) => ({
    series: eventNodes(1),
    breakdownFilter: {
      breakdowns: propertiesOf(n).map(({ key }) => ({ property: key, type: 'event' })),
    },
  })),
  trendsAttack('math in HogQL', (n) => ({
    series: [
      { kind: 'EventsNode', event: 'a', math: 'hogql', math_hogql: nested(n, '(', '1', ')') },
    ],
  })),
  kindAttack('FunnelsQuery', 'steps', (n) => ({ series: eventNodes(n) })),
  kindAttack('PathsQuery', 'patterns', (n) => ({
    pathsFilter: { pathReplacements: true, localPathCleaningFilters: patterns(n) },
  })),
  kindAttack('EventsQuery', 'selects', (n) => ({ select: Array.from({ length: n }, () => '*') })),
  kindAttack('EventsQuery', 'where', (n) => ({
    select: ['event'],
    where: Array.from({ length: n }, () => "event = 'a'"),
  })),
  kindAttack('EventsQuery', 'an order', (n) => ({
    select: ['event'],
    orderBy: ['event'.repeat(n)],
  })),
  kindAttack('HogQLMetadata', 'a long query', (n) => ({
    language: 'hogQL',
    query: `select ${many(n, 'event')} from events`,
  })),
  kindAttack('HogQLAutocomplete', 'a long query', (n) => ({
    language: 'hogQL',
    query: `select ${many(n, 'event')} from events`,
    startPosition: 8,
    endPosition: 8,
  })),
]

function trendsAttack(name: string, members: (size: number) => object): Attack {
  return kindAttack('TrendsQuery', name, members)
}

function kindAttack(kind: string, name: string, members: (size: number) => object): Attack {
  const textOf = (size: number): string =>
    JSON.stringify({ query: { kind, ...members(size) }, refresh: 'force_blocking' })
  return growingAttack(`${kind}: ${name}`, textOf, 128 * 1024, (body) => ({
    method: 'POST',
    path: '/api/projects/1/query/',
    body,
  }))
}

function eventNodes(count: number): readonly object[] {
  return Array.from({ length: count }, () => ({ kind: 'EventsNode', event: 'open' }))
}

function propertiesOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    key: `p${index}`,
    type: 'event',
    operator: 'exact',
    value: 'a',
  }))
}

function patterns(count: number): readonly object[] {
  return Array.from({ length: count }, () => ({ alias: 'a', regex: '(a+)+b' }))
}
