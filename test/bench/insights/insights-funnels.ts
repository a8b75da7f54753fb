/** Funnels and paths, as they are measured: by hand as chains of ASOF joins, and as windows. */
import { column, type InsightLine } from './insight-line.ts'

const PERSON = 'coalesce(o.person_id, e.person_id)'
const WITH_PERSON =
  'events_of($1) e left join person_overrides_of($1) o on o.old_person_id = e.person_id'

const node = (event: string) => ({ kind: 'EventsNode' as const, event })
const STEPS = ['$pageview', 'product viewed', 'product added'] as const
const funnel = {
  kind: 'FunnelsQuery' as const,
  series: STEPS.map(node),
  dateRange: { date_from: '2026-01-01', date_to: '2026-10-31' },
}
const IN_RANGE = "timestamp >= timestamp '2026-01-01' and timestamp < timestamp '2026-11-01'"
const BROWSER = column('text', '$browser')
const OF_STEPS = `event in (${STEPS.map((event) => `'${event}'`).join(', ')})`

/** Each step looks for the latest chain that came to the one before: `s` is when it began, `b` when its last step was. */
const chains = (extra: string): string => `with e as (
  select ${PERSON} as a, timestamp as t, event${extra} from ${WITH_PERSON} where ${IN_RANGE} and ${OF_STEPS}
), s1 as (select *, t as s from e where event = '$pageview'
), s2 as (
  select e.*, s1.s, s1.t as b from e asof join s1 on e.a = s1.a and e.t >= s1.t
  where e.event = 'product viewed' and e.t - s1.s <= interval 14 day
), s3 as (
  select e.*, s2.s, s2.t as b from e asof join s2 on e.a = s2.a and e.t >= s2.t
  where e.event = 'product added' and e.t - s2.s <= interval 14 day
)`

const took = (step: string): string =>
  `select a, arg_min(epoch(t) - epoch(b), t) as took from ${step} group by a`

export const FUNNEL_LINES: readonly InsightLine[] = [
  {
    name: 'funnel of three steps',
    query: funnel,
    sql: `${chains('')}
select (select count(distinct a) from s1), (select count(*) from (${took('s2')})), (select avg(took) from (${took('s2')})),
  (select median(took) from (${took('s2')})), (select count(*) from (${took('s3')})), (select avg(took) from (${took('s3')})), (select median(took) from (${took('s3')}))`,
  },
  {
    name: 'funnel by browser',
    query: { ...funnel, breakdownFilter: { breakdown: '$browser', breakdown_type: 'event' } },
    sql: `${chains(`, ${BROWSER} as browser`)}
, touch as (select a, arg_min(browser, t) filter (where browser <> '') as browser from e group by a)
, furthest as (select a, max(step) as step from (select a, 1 as step from s1 union all select a, 2 from s2 union all select a, 3 from s3) group by a)
select browser, count(*), count(*) filter (where step > 1), count(*) filter (where step > 2)
from furthest join touch using (a) group by browser order by 2 desc limit 26`,
  },
  {
    name: 'funnel by the value of a step',
    query: {
      ...funnel,
      funnelsFilter: { breakdownAttributionType: 'step', breakdownAttributionValue: 0 },
      breakdownFilter: { breakdown: '$browser', breakdown_type: 'event' },
    },
    sql: `with e as (
  select ${PERSON} as a, timestamp as t, event, ${BROWSER} as browser from ${WITH_PERSON} where ${IN_RANGE} and ${OF_STEPS}
), s1 as (select a, t, t as s, browser from e where event = '$pageview'
), named as (select distinct a, browser from s1
), later as (select e.a, e.t, e.event, named.browser from e join named using (a) where e.event <> '$pageview'
), s2 as (
  select l.a, l.t, l.browser, s1.s from later l asof join s1 on l.a = s1.a and l.browser = s1.browser and l.t >= s1.t
  where l.event = 'product viewed' and l.t - s1.s <= interval 14 day
), s3 as (
  select l.a, l.t, l.browser, s2.s from later l asof join s2 on l.a = s2.a and l.browser = s2.browser and l.t >= s2.t
  where l.event = 'product added' and l.t - s2.s <= interval 14 day
)
select browser, count(distinct a) filter (where n = 1), count(distinct a) filter (where n = 2), count(distinct a) filter (where n = 3)
from (select a, browser, 1 as n from s1 union all select a, browser, 2 from s2 union all select a, browser, 3 from s3)
group by browser order by 2 desc limit 26`,
  },
  {
    name: 'funnel by week of entrance',
    query: { ...funnel, interval: 'week', funnelsFilter: { funnelVizType: 'trends' } },
    sql: `${chains('')}
, entered as (select distinct a, date_trunc('week', t) as week from s1)
, through as (select distinct a, date_trunc('week', s) as week from s3)
select week, count(*), count(through.a) from entered left join through using (a, week) group by week order by week`,
  },
  {
    name: 'strict funnel',
    query: { ...funnel, funnelsFilter: { funnelOrderType: 'strict' } },
    sql: `with e as (
  select ${PERSON} as a, timestamp as t, event from ${WITH_PERSON} where ${IN_RANGE}
), n as (
  select a, t, event, lead(event) over w as e2, lead(t) over w as t2, lead(event, 2) over w as e3, lead(t, 2) over w as t3
  from e window w as (partition by a order by t)
)
select count(distinct a), count(distinct a) filter (where e2 = 'product viewed' and t2 - t <= interval 14 day),
  count(distinct a) filter (where e2 = 'product viewed' and e3 = 'product added' and t3 - t <= interval 14 day)
from n where event = '$pageview'`,
  },
  {
    name: 'unordered funnel',
    query: { ...funnel, funnelsFilter: { funnelOrderType: 'unordered' } },
    sql: `with e as (
  select ${PERSON} as a, timestamp as t, event from ${WITH_PERSON} where ${IN_RANGE} and ${OF_STEPS}
), n as (
  select a, ${STEPS.map((event) => `max((event = '${event}')::integer) over w`).join(' + ')} as steps
  from e window w as (partition by a order by t range between current row and interval 14 day following)
), most as (select a, max(steps) as steps from n group by a)
select count(*), count(*) filter (where steps > 1), count(*) filter (where steps > 2) from most`,
  },
  {
    name: 'paths of pages, a month',
    query: {
      kind: 'PathsQuery',
      dateRange: { date_from: '2026-10-01', date_to: '2026-10-31' },
      pathsFilter: { includeEventTypes: ['$pageview'] },
    },
    sql: `with e as (
  select ${PERSON} as a, timestamp as t, regexp_replace(coalesce(${column('text', '$current_url')}, ''), '(.)/$', '\\1') as item
  from ${WITH_PERSON} where event = '$pageview' and timestamp >= timestamp '2026-10-01' and timestamp < timestamp '2026-11-01'
), n as (
  select a, t, item, lead(item) over w as next, lead(t) over w - t >= interval 30 minute as is_end,
    coalesce(t - lag(t) over w >= interval 30 minute, true)::integer as is_start
  from e window w as (partition by a order by t)
), v as (select *, sum(is_start) over (partition by a order by t rows unbounded preceding) as visit from n
), kept as (select a, visit, t, item from v where next is null or is_end or next <> item
), p as (
  select item, t, lag(item) over w as before, lag(t) over w as since, row_number() over w as step
  from kept window w as (partition by a, visit order by t)
)
select (step - 1) || '_' || before as source, step || '_' || item as target, count(*) as value, avg(epoch_ms(t) - epoch_ms(since))
from p where step between 2 and 5 group by 1, 2 order by value desc, 1, 2 limit 50`,
  },
]
