/** Insights about who comes again, as they are measured. */
import type { InsightLine } from './insight-line.ts'

const PERSON = 'coalesce(o.person_id, e.person_id)'
const WITH_PERSON =
  'events_lean_of($1) e left join person_overrides_of($1) o on o.old_person_id = e.person_id'

const series = [{ kind: 'EventsNode' as const, event: '$pageview' }]
const always = { date_from: '2025-05-01', date_to: '2026-10-31' }
const HAPPENED = "event = '$pageview' and timestamp >= timestamp '2025-05-01'"

export const PERSON_LINES: readonly InsightLine[] = [
  {
    name: 'lifecycle by week',
    query: { kind: 'LifecycleQuery', series, dateRange: always, interval: 'week' },
    sql: `with weeks as (
  select distinct ${PERSON} as person, (timestamp::date - dayofweek(timestamp)::integer) as week from ${WITH_PERSON} where ${HAPPENED}
), near as (
  select person, week, lag(week) over w as before, lead(week) over w as after from weeks window w as (partition by person order by week)
), told as (
  select person, week, after, case when (p.created_at::date - dayofweek(p.created_at)::integer) = week then 'new'
    when before = week - 7 then 'returning' else 'resurrecting' end as status
  from near left join persons_of($1) p on p.id = near.person
)
select week, status, count(*) from told group by all
union all select week + 7, 'dormant', count(*) from told where after is null or after <> week + 7 group by all`,
  },
  {
    name: 'lifecycle by day, a month',
    query: { kind: 'LifecycleQuery', series, dateRange: { date_from: '-30d' } },
    sql: `with days as (
  select distinct ${PERSON} as person, timestamp::date as day from ${WITH_PERSON}
  where event = '$pageview' and timestamp >= timestamp '2026-09-30'
), near as (
  select person, day, lag(day) over w as before, lead(day) over w as after from days window w as (partition by person order by day)
), told as (
  select person, day, after, case when p.created_at::date = day then 'new' when before = day - 1 then 'returning' else 'resurrecting' end as status
  from near left join persons_of($1) p on p.id = near.person
)
select day, status, count(*) from told group by all
union all select day + 1, 'dormant', count(*) from told where after is null or after <> day + 1 group by all`,
  },
  {
    name: 'stickiness by week',
    query: { kind: 'StickinessQuery', series, dateRange: always, interval: 'week' },
    sql: `select n, count(*) from (
  select ${PERSON} as person, count(distinct timestamp::date - dayofweek(timestamp)::integer) as n from ${WITH_PERSON} where ${HAPPENED} group by 1
) group by 1`,
  },
  {
    name: 'heat map of the week',
    query: { kind: 'CalendarHeatmapQuery', series, dateRange: always },
    sql: `select dayofweek(timestamp), hour(timestamp), count(*) from events_lean_of($1) where ${HAPPENED}
group by grouping sets ((1, 2), (1), (2), ())`,
  },
]
