/** Trends as they are measured: every way of counting that has a way of its own. */
import { column, type InsightLine } from './insight-line.ts'

const PERSON = 'coalesce(o.person_id, e.person_id)'
const WITH_PERSON =
  'events_lean_of($1) e left join person_overrides_of($1) o on o.old_person_id = e.person_id'
const HAPPENED = "event = '$pageview' and timestamp >= timestamp '2025-05-01'"

const always = { date_from: '2025-05-01', date_to: '2026-10-31' }

/** Page views over all eighteen months. */
const views = (members: object) => ({
  kind: 'TrendsQuery' as const,
  series: [{ kind: 'EventsNode' as const, event: '$pageview', ...members }],
  dateRange: always,
})

/** The statement that ranks values and sums up the rest, over rows of `bucket`, `b`, `n`. */
const ranked = (rows: string): string => `with series_values as materialized (${rows}),
best as (select b, sum(n) as total from series_values group by b order by total desc, b limit 25)
select bucket, case when best.b is null then 'other' else series_values.b end, sum(n) from series_values left join best on best.b = series_values.b group by all`

export const TREND_LINES: readonly InsightLine[] = [
  {
    name: 'page views per day',
    query: views({}),
    sql: `select timestamp::date, count(*) from events_lean_of($1) where ${HAPPENED} group by 1`,
  },
  {
    name: 'page views per day by page',
    query: { ...views({}), breakdownFilter: { breakdown: '$pathname' } },
    sql: ranked(
      `select timestamp::date as bucket, coalesce(nullif(${column('text', '$pathname')}, ''), '') as b, count(*) as n from events_lean_of($1) where ${HAPPENED} group by all`,
    ),
  },
  {
    name: 'page views per week by plan and city',
    query: {
      ...views({}),
      interval: 'week',
      breakdownFilter: {
        breakdowns: [{ property: 'plan' }, { property: '$geoip_city_name' }],
      },
    },
    sql: ranked(
      `select timestamp::date - dayofweek(timestamp)::integer as bucket, concat(${column('text', 'plan')}, '::', ${column('text', '$geoip_city_name')}) as b, count(*) as n from events_lean_of($1) where ${HAPPENED} group by all`,
    ),
  },
  {
    name: 'people per day',
    query: views({ math: 'dau' }),
    sql: `select timestamp::date, count(distinct ${PERSON}) from ${WITH_PERSON} where ${HAPPENED} group by 1`,
  },
  {
    name: 'people per day by browser',
    query: { ...views({ math: 'dau' }), breakdownFilter: { breakdown: '$browser' } },
    sql: ranked(
      `select timestamp::date as bucket, ${column('text', '$browser')} as b, count(distinct ${PERSON}) as n from ${WITH_PERSON} where ${HAPPENED} group by all`,
    ),
  },
  {
    name: 'people within a week, per day of three months',
    query: { ...views({ math: 'weekly_active' }), dateRange: { date_from: '-90d' } },
    sql: `with days as (
  select distinct timestamp::date as day, ${PERSON} as person from ${WITH_PERSON} where event = '$pageview' and timestamp >= timestamp '2026-07-28'
)
select d + s::integer as day, count(distinct person) from (select day as d, person from days), range(7) r(s)
where d + s::integer between date '2026-08-03' and date '2026-11-01' group by 1`,
  },
  {
    name: 'sum of prices per month by category',
    query: {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'order placed', math: 'sum', math_property: 'price' }],
      dateRange: always,
      interval: 'month',
      breakdownFilter: { breakdown: 'category' },
    },
    sql: ranked(
      `select date_trunc('month', timestamp) as bucket, ${column('text', 'category')} as b, sum(${column('number', 'price')}) as n from events_lean_of($1)
where event = 'order placed' and timestamp >= timestamp '2025-05-01' group by all`,
    ),
  },
  {
    name: 'ninetieth percentile of loading per week',
    query: { ...views({ math: 'p90', math_property: 'load_ms' }), interval: 'week' },
    sql: `select timestamp::date - dayofweek(timestamp)::integer, quantile_cont(${column('number', 'load_ms')}, 0.9) from events_lean_of($1) where ${HAPPENED} group by 1`,
  },
  {
    name: 'page views per person and week',
    query: { ...views({ math: 'avg_count_per_actor' }), interval: 'week' },
    sql: `select week, avg(n) from (
  select timestamp::date - dayofweek(timestamp)::integer as week, ${PERSON} as person, count(*) as n from ${WITH_PERSON} where ${HAPPENED} group by all
) group by 1`,
  },
  {
    name: 'first page views per week',
    query: { ...views({ math: 'first_time_for_user' }), interval: 'week' },
    sql: `select first::date - dayofweek(first)::integer, count(*) from (
  select ${PERSON} as person, min(timestamp) as first from ${WITH_PERSON} where event = '$pageview' group by 1
) where first >= timestamp '2025-05-01' group by 1`,
  },
  {
    name: 'people so far, per week',
    query: {
      ...views({ math: 'dau' }),
      interval: 'week',
      trendsFilter: { display: 'ActionsLineGraphCumulative' },
    },
    sql: `select first::date - dayofweek(first)::integer, count(*) from (
  select ${PERSON} as person, min(timestamp) as first from ${WITH_PERSON} where ${HAPPENED} group by 1
) group by 1`,
  },
  {
    name: 'countries of people',
    query: {
      ...views({ math: 'dau' }),
      trendsFilter: { display: 'WorldMap' },
      breakdownFilter: { breakdown: '$geoip_country_code' },
    },
    sql: `select ${column('text', '$geoip_country_code')} as b, count(distinct ${PERSON}) as n from ${WITH_PERSON} where ${HAPPENED} group by 1 order by n desc limit 300`,
  },
  {
    name: 'page views per week by the country of the person',
    query: {
      ...views({}),
      interval: 'week',
      breakdownFilter: { breakdown: '$geoip_country_code', breakdown_type: 'person' },
    },
    sql: ranked(
      `select timestamp::date - dayofweek(timestamp)::integer as bucket, coalesce(nullif(json_extract_string(p.properties, '/$geoip_country_code'), ''), '') as b, count(*) as n
from ${WITH_PERSON} left join persons_of($1) p on p.id = ${PERSON} where ${HAPPENED} group by all`,
    ),
  },
  {
    name: 'orders of a hundred page views, per week',
    query: {
      ...views({}),
      series: [
        { kind: 'EventsNode', event: '$pageview' },
        { kind: 'EventsNode', event: 'order placed' },
      ],
      interval: 'week',
      trendsFilter: { formula: 'B / A * 100' },
    },
    sql: `select timestamp::date - dayofweek(timestamp)::integer, count(*) filter (event = 'order placed') / count(*) filter (event = '$pageview') * 100
from events_lean_of($1) where event in ('order placed', '$pageview') and timestamp >= timestamp '2025-05-01' group by 1`,
  },
]
