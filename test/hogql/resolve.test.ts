/** What a query gets wrong is told with its place, and with the name that was probably meant. */

import { describe, expect, test } from 'bun:test'
import { Refusal } from '../../src/errors.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { CONTEXT } from './engine.ts'

/** A query, the detail of its refusal, and the part of the text it points at. */
const REFUSALS = [
  ['select xyz from events', 'Unable to resolve field: xyz', 'xyz'],
  ['select evnt from events', "Unable to resolve field: evnt. Perhaps you meant 'event'?", 'evnt'],
  ['select e.xyz from events e', 'Unable to resolve field: e.xyz', 'e.xyz'],
  ['select x.event from events e', 'Unable to resolve field: x.event', 'x.event'],
  [
    'select events.event from events e',
    "Unable to resolve field: events.event. Perhaps you meant 'event'?",
    'events.event',
  ],
  ['select * from evets', 'Unknown table `evets`. Perhaps you meant "events"?', 'evets'],
  ['select * from foo', 'Unknown table `foo`.', 'foo'],
  [
    'select * from numbrs(5)',
    "Unknown table function `numbrs`. Perhaps you meant 'numbers'?",
    'numbrs',
  ],
  [
    'select coutn()',
    "Unsupported function call 'coutn(...)'. Perhaps you meant 'count(...)'?",
    'coutn()',
  ],
  ['select frobnicate(1)', "Unsupported function call 'frobnicate(...)'", 'frobnicate(1)'],
  [
    "select sumIfState(1, event = 'a') from events",
    "Unsupported function call 'sumIfState(...)'",
    "sumIfState(1, event = 'a')",
  ],
  [
    'select LENGTHUTF8(event) from events',
    "Unsupported function call 'LENGTHUTF8(...)'. Perhaps you meant 'lengthUTF8(...)'?",
    'LENGTHUTF8(event)',
  ],
  ['select length()', "Function 'length' expects 1 argument, found 0", 'length()'],
  ['select length(1, 2)', "Function 'length' expects 1 argument, found 2", 'length(1, 2)'],
  [
    "select substring('a')",
    "Function 'substring' expects at least 2 arguments, found 1",
    "substring('a')",
  ],
  [
    "select substring('a', 1, 2, 3)",
    "Function 'substring' expects at most 3 arguments, found 4",
    "substring('a', 1, 2, 3)",
  ],
  ['select sum()', "Aggregation 'sum' expects 1 argument, found 0", 'sum()'],
  ['select sumIf(1)', "Aggregation 'sumIf' expects 2 arguments, found 1", 'sumIf(1)'],
  [
    'select sum(count())',
    "Aggregation 'count' cannot be nested inside another aggregation 'sum'.",
    'sum(count())',
  ],
  ['select row_number()', "Function 'row_number' needs an OVER clause", 'row_number()'],
  [
    "select length('a') over ()",
    "Function 'length' cannot have an OVER clause",
    "length('a') over ()",
  ],
  [
    "select lower(distinct 'a')",
    "DISTINCT only goes with aggregations, not with 'lower'",
    "lower(distinct 'a')",
  ],
  ['select abs(1)(2)', "Function 'abs' does not accept parameters", 'abs(1)(2)'],
  [
    'select event from events a join persons b on 1 = 1 where created_at > now()',
    'Ambiguous query. Found multiple sources for field: created_at',
    'created_at',
  ],
  [
    'select 1 from events e join events e on 1 = 1',
    'Already have joined a table called "e". Can\'t redefine.',
    'events e',
  ],
  ['select 1 from events join persons', 'A JOIN needs ON or USING', 'persons'],
  ['select person from events', "Can't select a table when a column is expected: person", 'person'],
  ['select person.foo from events', 'Unable to resolve field: person.foo', 'person.foo'],
  [
    'select event.foo from events',
    "Cannot access property 'foo' of a value of type String",
    'event.foo',
  ],
  [
    'select timestamp.x from events',
    "Cannot access property 'x' of a value of type DateTime64(6, 'UTC')",
    'timestamp.x',
  ],
  [
    "select 1 from events where timestamp > 'garbage'",
    "Cannot parse 'garbage' as DateTime64(6, 'UTC')",
    "'garbage'",
  ],
  ["select 1 from events where 'x' = toDate(timestamp)", "Cannot parse 'x' as Date", "'x'"],
  ["select 1 from events where properties.paid = 'x'", "Cannot parse 'x' as Bool", "'x'"],
  [
    'select 1 union all select 1, 2',
    'All parts of a set operation need the same number of columns',
    'select 1, 2',
  ],
  [
    'select (select 1, 2)',
    'A sub-select used as a value must have exactly one column',
    'select 1, 2',
  ],
  ['select x -> 1', 'A lambda can only be an argument of a function', 'x -> 1'],
  ['select {foo}', 'Unresolved placeholder: {foo}', '{foo}'],
  ['select 1 order by 5', 'There is no column 5 to go by', '5'],
  ['select 1 limit -1', 'LIMIT and OFFSET cannot be negative', '-1'],
  ["select 1, toTimeZone(now(), 'x')", "Unknown timezone 'x'.", "toTimeZone(now(), 'x')"],
  ...[
    ['toTimeZone(timestamp, event)', 'The time zone must be a constant'],
    ['toHour(timestamp, event)', "The time zone of 'toHour' must be a constant text"],
    ['toDateTime(event, distinct_id)', 'The time zone must be a constant'],
    ["formatDateTime(timestamp, '%H', event)", 'The time zone must be a constant'],
    ['toDecimal(event, toInt(event))', 'The scale of a decimal must be a constant'],
    ['toWeek(timestamp, toInt(event))', 'The mode of a week must be a constant'],
    ['toStartOfWeek(timestamp, toInt(event))', 'The mode of a week must be a constant'],
    ['dateName(event, timestamp)', 'The name of a part must be a constant'],
  ].map(([call = '', detail = '']) => [`select ${call} from events`, detail, call] as const),
  [
    'select event, dateTrunc(event, timestamp) from events',
    'date_trunc needs a constant unit',
    'dateTrunc(event, timestamp)',
  ],
  ['select sum(1) over w', 'Unknown window: w', 'sum(1) over w'],
  ['select cast(1 as foo)', 'Unknown type: foo', 'cast(1 as foo)'],
  ['select (1, 2).5', 'Tuple has no element 5', '(1, 2).5'],
  [
    'select 1 from events e join person_distinct_ids p using (nope)',
    'Unable to resolve field: nope',
    'nope',
  ],
  ["select columns('(') from events", 'Not a regular expression: (', "columns('(')"],
  [
    'select 1 as a union all by name select 2 as a union all select 3',
    'BY NAME goes for all parts or for none',
    'select 3',
  ],
  [
    'select * from events pivot (event for event in (1) group by uuid)',
    'PIVOT needs calls of aggregate functions',
    'event',
  ],
  ['select * from <Foo />', 'Tags are not supported here: <Foo>', '<Foo />'],
  [
    'select * from <HogQLQuery query={1} />',
    '<HogQLQuery> needs its query as a text: query=…',
    '<HogQLQuery query={1} />',
  ],
  [
    'select number as n, 1 as v from numbers(2) order by n with fill interpolate (v as x + 1)',
    'INTERPOLATE computes from columns of the select',
    'x',
  ],
  [
    'select * from events unpivot ((a, c) for b in (event))',
    'UNPIVOT needs 2 columns for each row',
    'event',
  ],
  [
    'select number as a, 1 as b, 2 as c from numbers(2) order by a with fill, b, c with fill',
    'Keys that are filled stand side by side',
    'c with fill',
  ],
  [
    'select sum(grouping(number)) from numbers(6) group by rollup(number)',
    'grouping takes keys of GROUP BY, where a select shows, orders or keeps its groups',
    'grouping(number)',
  ],
  [
    'select grouping(number + 1) from numbers(6) group by rollup(number)',
    'grouping takes keys of GROUP BY, where a select shows, orders or keeps its groups',
    'grouping(number + 1)',
  ],
  [
    'select n.number from numbers(3) n right semi join numbers(2) m on n.number = m.number',
    'Unable to resolve field: n.number',
    'n.number',
  ],
  [
    'select event from events order by event with fill',
    'WITH FILL needs numbers, dates or times',
    'event with fill',
  ],
  [
    'select number from numbers(2) order by number desc with fill step 1',
    'STEP must be negative here',
    'number desc with fill step 1',
  ],
  [
    'select number from numbers(2) order by number with fill step number',
    'STEP needs a number or an interval as a constant',
    'number',
  ],
  ['select person_id in cohort 4 from events', 'Could not find cohort with ID 4', '4'],
  [
    "select person_id in cohort 'no' from events",
    "Could not find a cohort with the name 'no'",
    "'no'",
  ],
  [
    "select person_id in cohort 'twice' from events",
    "Found multiple cohorts with name 'twice'",
    "'twice'",
  ],
  [
    'select person_id in cohort (1 + 2) from events',
    'IN COHORT needs the id or the name of a cohort as a constant',
    '1 + 2',
  ],
  [
    'with a as (select 1), a as (select 2) select * from a',
    'WITH defines a twice',
    'a as (select 2)',
  ],
  [
    'select e.evnt from events e',
    "Unable to resolve field: e.evnt. Perhaps you meant 'event'?",
    'e.evnt',
  ],
  [
    'select person.propertis from events',
    "Unable to resolve field: person.propertis. Perhaps you meant 'properties'?",
    'person.propertis',
  ],
  [
    'select events.evnt.x, event from events',
    "Unable to resolve field: events.evnt.x. Perhaps you meant 'event'?",
    'events.evnt.x',
  ],
  [
    'select evens.event from events',
    "Unable to resolve field: evens.event. Perhaps you meant 'events'?",
    'evens.event',
  ],
  [
    'select evens.* from events',
    "Unable to resolve field: evens.*. Perhaps you meant 'events'?",
    'evens.*',
  ],
  [
    'select 1 from events join persons using (distinct_idd)',
    'Unable to resolve field: distinct_idd',
    'distinct_idd',
  ],
  [
    'select count() over recnt from events window recent as (partition by event)',
    "Unknown window: recnt. Perhaps you meant 'recent'?",
    'count() over recnt',
  ],
  ["select '1'::strng", "Unknown type: strng. Perhaps you meant 'string'?", "'1'::strng"],
  [
    "select 1 from events where person_id in cohort 'vipp'",
    "Could not find a cohort with the name 'vipp'. Perhaps you meant 'vip'?",
    "'vipp'",
  ],
  [
    "select convertCurrency('USD', 'EUR', 5)",
    "Function 'convertCurrency' is not supported",
    "convertCurrency('USD', 'EUR', 5)",
  ],
  [
    'select 1 from number(5)',
    "Unknown table function `number`. Perhaps you meant 'numbers'?",
    'number',
  ],
] as const

describe('refusals', () => {
  test.each(REFUSALS)('%s', (text, detail, part) => {
    let thrown: unknown = null
    try {
      compileHogQL(text, CONTEXT)
    } catch (error) {
      thrown = error
    }
    if (!(thrown instanceof Refusal)) throw new Error(`not refused: ${String(thrown)}`)
    expect(thrown.detail).toBe(detail)
    expect([thrown.code, thrown.attr]).toEqual(['invalid_input', 'query'])
    expect(text.slice(thrown.span?.start, thrown.span?.end)).toBe(part)
  })
})

const DOUBLINGS = 60

/** Short texts that would stand for more than any machine holds. */
const BOMBS: Readonly<Record<string, string>> = {
  aliases: `select 1 as a0, ${doubled((i) => `a${i} + a${i} as a${i + 1}`)}`,
  'expressions of WITH': `with 1 as a0, ${doubled((i) => `a${i} + a${i} as a${i + 1}`)} select a${DOUBLINGS}`,
  'arrays to be joined': `select [1] as a0, ${doubled((i) => `arrayConcat(a${i}, a${i}) as a${i + 1}`)}, arrayJoin(a${DOUBLINGS})`,
  stars: Array.from({ length: 30 }).reduce(
    (inner: string) => `select *, * from (${inner})`,
    'select 1 as a',
  ),
  'aliases of thousands': `select [${repeated(9000, String)}] as a, ${repeated(20, () => 'length(a)')}`,
  'joined CTEs': `with c0 as (select 1 as x), ${doubled((i) => `c${i + 1} as (select * from c${i} as p, c${i} as q)`)} select * from c${DOUBLINGS}`,
}

function repeated(count: number, part: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => part(index)).join(', ')
}

function doubled(step: (index: number) => string): string {
  return Array.from({ length: DOUBLINGS }, (_, index) => step(index)).join(', ')
}

describe('queries that grow', () => {
  test.each(Object.entries(BOMBS))('%s are refused before they do', (_, text) => {
    expect(() => compileHogQL(text, CONTEXT)).toThrow(Refusal)
  })

  test('so many cuts on a clock that changes, and no more', () => {
    const asked = (count: number): string =>
      `select ${repeated(count, (index) => `toStartOfDay(timestamp) + ${index}`)} from events`
    const context = { ...CONTEXT, timezone: 'Europe/Berlin' }
    expect(() => compileHogQL(asked(1000), context)).not.toThrow()
    expect(() => compileHogQL(asked(1001), context)).toThrow(
      'A query looks at the clocks of zones at most 1000 times',
    )
  })

  test('a name used twice is no reason', () => {
    expect(() =>
      compileHogQL('select 1 as a, a + a as b, b + b as c, c + c as d', CONTEXT),
    ).not.toThrow()
  })
})
