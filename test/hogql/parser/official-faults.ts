/** Where our parser and the official one part, and why: each row is asserted to differ, so that no row outlives its reason. */

import type { Entry } from './official.ts'

type Row = readonly [entry: Entry, text: string]

/** The official tree has lost or bent something that the text says. */
export const FAULTS: readonly { readonly reason: string; readonly rows: readonly Row[] }[] = [
  {
    reason: 'GROUP BY … WITH ROLLUP, CUBE and TOTALS vanish',
    rows: [
      ['select', 'select a from b group by a with totals'],
      ['select', 'select a from b with totals'],
      ['select', 'select 1 from a group by a, b with rollup'],
      ['select', 'select 1 from a group by a, b with cube with totals'],
    ],
  },
  {
    reason: 'NULLS FIRST, NULLS LAST and COLLATE vanish',
    rows: [
      ['order', 'a desc nulls first'],
      ['order', 'a asc nulls last'],
      ['order', "a collate 'en'"],
      ['expr', 'rank() over (partition by a order by b desc nulls last)'],
    ],
  },
  {
    reason: 'IGNORE NULLS vanishes',
    rows: [
      ['expr', 'any(a) ignore nulls'],
      ['expr', 'f(x, y ignore nulls)'],
      ['select', 'select f(a ignore nulls) over () from t'],
    ],
  },
  {
    reason: 'the FILTER of a window function vanishes',
    rows: [['expr', 'sum(a) filter (where c) over (order by x)']],
  },
  {
    reason: 'NATURAL vanishes',
    rows: [
      ['select', 'select * from a natural join b'],
      ['select', 'select * from a natural left join b'],
    ],
  },
  {
    reason: 'LIMIT m, n is read the wrong way round (ClickHouse: offset, limit)',
    rows: [['select', 'select 1 limit 5, 10']],
  },
  {
    reason: 'an order or limit behind brackets overwrites the one inside, or is lost',
    rows: [
      ['select', '(select 1 limit 2) limit 3'],
      ['select', '(select 1 order by 1) order by 2 limit 3 offset 4'],
      ['select', '((select 1) union all (select 2) limit 2) limit 3'],
      ['select', '(select 1) union all (select 2) order by 1 limit 2 offset 3'],
      ['select', '(select 1 union all select 2) order by 1'],
      ['select', '{a} limit 1'],
    ],
  },
  {
    reason: 'the table of t.* EXCLUDE vanishes',
    rows: [
      ['expr', 't.* exclude (a)'],
      ['select', 'select columns(b.* exclude (a, c)) from d'],
    ],
  },
  {
    reason: 'the parameters of a type behind :: are taken for a call',
    rows: [
      ['expr', 'x::Nullable(String)'],
      ['expr', 'a::decimal(10,2)'],
      ['expr', 'a::nullable(String)::int'],
    ],
  },
  {
    reason: 'the names in a tuple type lose their case',
    rows: [['expr', 'cast(x as Tuple(Aa Int, `Bb` String))']],
  },
  {
    reason: 'a zero character in a text vanishes',
    rows: [['expr', "'a\\0b'"]],
  },
  {
    reason:
      'integers in other bases keep their spelling instead of their value when they are large',
    rows: [['expr', '0xFFFFFFFFFFFFFFFF']],
  },
  {
    reason: 'the second of two lambdas is swallowed by the first',
    rows: [['expr', 'f(x -> y, z -> w)']],
  },
  {
    reason: 'SELECT ALL is taken for a column named all',
    rows: [['select', 'select all a from b']],
  },
  {
    reason: 'outer names of WITH are put behind the inner ones that may use them',
    rows: [['select', 'with a as (select 1) (with b as (select 2) select 1)']],
  },
]

/** The official parser takes these; we refuse them, since what it makes of them is not what they say. */
export const REFUSED_BY_US: readonly { readonly reason: string; readonly rows: readonly Row[] }[] =
  [
    {
      reason: 'DISTINCT ON becomes a call of a function named on',
      rows: [['select', 'select distinct on (a) b from c']],
    },
    {
      reason: 'brackets on the right of an outer join are flattened, which changes its rows',
      rows: [
        ['select', 'select * from a left join b left join c on 1 on 2'],
        ['select', 'select * from (a left join b on 1) left join (c join d on 2) on 3'],
      ],
    },
    {
      reason: 'the second LIMIT silently replaces the first, clauses out of order pass',
      rows: [
        ['select', 'select a from t limit 1 limit 2'],
        ['select', 'select a from t limit 1 order by b'],
      ],
    },
    {
      reason: 'the second column of UNPIVOT vanishes',
      rows: [['select', 'select * from a unpivot (x for y in (a) z in (b))']],
    },
    {
      reason: 'the percent sign of SAMPLE vanishes',
      rows: [['select', 'select * from a sample 10%']],
    },
    {
      reason: 'the second alias replaces the first',
      rows: [['select', 'select * from a as b as c']],
    },
    { reason: 'all orders but the first vanish', rows: [['order', 'a, b']] },
    {
      reason: 'statements in lambdas belong to Hog, not to HogQL',
      rows: [['expr', 'x -> {return 1}']],
    },
  ]

/** The official parser refuses these or traps; they are harmless and users write them. */
export const REFUSED_BY_THEM: readonly {
  readonly reason: string
  readonly rows: readonly Row[]
}[] = [
  {
    reason: 'a < directly before a name is taken for a tag',
    rows: [
      ['expr', 'a<b and c>d'],
      ['expr', 'a<b or c/d'],
      ['expr', 'a<b>c'],
    ],
  },
  {
    reason: 'backslashes of patterns need no doubling',
    rows: [
      ['expr', "'50\\%'"],
      ['expr', "'\\d+'"],
      ['expr', "'a\\_b'"],
    ],
  },
  {
    reason: 'INTERPOLATE with columns traps',
    rows: [['select', 'select a from b order by c with fill interpolate (d, e as f + 1)']],
  },
  {
    reason: 'values as the rows of WITH',
    rows: [
      ['select', 'with a(x) as (values (1)) select 1'],
      ['select', 'with recursive a(n) as (values (1) union all select n + 1 from a) select 1'],
    ],
  },
  {
    reason: 'types of ClickHouse and PostgreSQL behind ::',
    rows: [
      ['expr', 'a::array(int)'],
      ['expr', 'a::int[]'],
      ['expr', 'a::double precision'],
      ['expr', "cast(a as Enum8('a' = 1, 'b' = 2))"],
    ],
  },
  {
    reason: 'clauses of standard SQL and ClickHouse in their other order or place',
    rows: [
      ['select', 'select a from b window w as () qualify 1'],
      ['select', 'select 1 except distinct select 2'],
      ['expr', 'f(a) ignore nulls over ()'],
      ['expr', 'f(a) within group (order by b) filter (where c)'],
      ['expr', "interval '-1 minute'"],
      ['select', 'select * from a join b on 1 join c on 2, d'],
    ],
  },
]
