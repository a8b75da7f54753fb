/** Who comes back, who visits, and lists of events, as they are measured. */
import { column, type InsightLine } from './insight-line.ts'

const PERSON = 'coalesce(o.person_id, e.person_id)'
const WITH_PERSON =
  'events_lean_of($1) e left join person_overrides_of($1) o on o.old_person_id = e.person_id'
const SESSION = column('text', '$session_id')

const pageview = { id: '$pageview', type: 'events' as const }
const entities = { targetEntity: pageview, returningEntity: pageview }
const month = { date_from: '-30d' }
const MONTH = "timestamp >= timestamp '2026-10-02'"

/** Pairs of an actor's steps, from rows of `person` and `step`: each list is opened twice, nothing is joined. */
const pairs = (steps: string, starts: string): string => `with steps as (${steps}),
lists as (select person, list(step) as steps from steps group by 1),
started as (select steps, unnest(${starts}) as start from lists),
paired as (select start, unnest(steps) as step from started)
select start, step - start, count(*) from paired where step >= start group by all`

const WEEK =
  "date_diff('day', date '2026-08-09', timestamp::date - dayofweek(timestamp)::integer) // 7"

/** One row per session of the last month, as visits are told: what was viewed, how long it lasted, whether it bounced. */
const VISITS = `select ${SESSION} as session,
  arg_min(${PERSON}, timestamp) filter (event = '$pageview') as person, min(timestamp) as start,
  count(*) filter (event = '$pageview') as views, count(*) filter (event = '$autocapture') as clicks,
  date_diff('second', min(timestamp), max(timestamp)) as duration
from ${WITH_PERSON} where ${SESSION} <> '' and timestamp >= timestamp '2026-10-01' group by all`

export const PEOPLE_LINES: readonly InsightLine[] = [
  {
    name: 'retention, thirteen weeks',
    query: {
      kind: 'RetentionQuery',
      retentionFilter: { period: 'Week', totalIntervals: 13, ...entities },
    },
    sql: pairs(
      `select distinct ${PERSON} as person, ${WEEK} as step from ${WITH_PERSON} where event = '$pageview' and timestamp >= timestamp '2026-08-09'`,
      'steps',
    ),
  },
  {
    name: 'retention of first visits, thirteen weeks',
    query: {
      kind: 'RetentionQuery',
      retentionFilter: {
        period: 'Week',
        totalIntervals: 13,
        retentionType: 'retention_first_time',
        ...entities,
      },
    },
    sql: pairs(
      `select distinct ${PERSON} as person, ${WEEK} as step from ${WITH_PERSON} where event = '$pageview'`,
      'case when list_min(steps) >= 0 then [list_min(steps)] else [] end',
    ),
  },
  {
    name: 'retention by browser, eleven days',
    query: {
      kind: 'RetentionQuery',
      retentionFilter: { totalIntervals: 11, ...entities },
      breakdownFilter: { breakdown: '$browser' },
    },
    sql: `with steps as (
  select distinct ${PERSON} as person, ${column('text', '$browser')} as b, timestamp::date as step from ${WITH_PERSON}
  where event = '$pageview' and timestamp >= timestamp '2026-10-22'
),
lists as (select person, b, list(step) as steps from steps group by all),
started as (select b, steps, unnest(steps) as start from lists),
paired as (select b, start, unnest(steps) as step from started)
select b, start, step - start, count(*) from paired where step >= start group by all`,
  },
  {
    name: 'visits of a month',
    query: { kind: 'WebOverviewQuery', dateRange: month },
    sql: `select count(distinct person), sum(views), count(*), avg(duration),
  avg((views = 1 and clicks = 0 and duration < 10)::integer)
from (${VISITS}) where views > 0 and start >= timestamp '2026-10-02'`,
  },
  {
    name: 'visits of a month by page',
    query: { kind: 'WebStatsTableQuery', breakdownBy: 'Page', dateRange: month },
    sql: `with began as (
  select ${SESSION} as session, min(timestamp) as start from events_lean_of($1) where timestamp >= timestamp '2026-10-01' group by 1
)
select page, count(distinct person) as visitors, count(*) from (
  select ${column('text', '$pathname')} as page, ${PERSON} as person, start
  from ${WITH_PERSON} join began on began.session = ${SESSION} where event = '$pageview' and ${MONTH}
) where start >= timestamp '2026-10-02' group by 1 order by visitors desc limit 100`,
  },
  {
    name: 'newest events of a name',
    query: {
      kind: 'EventsQuery',
      select: ['uuid', 'event', 'timestamp', 'distinct_id', 'properties.$pathname'],
      event: 'order placed',
      after: '-7d',
    },
    sql: `select uuid, event, timestamp, distinct_id, ${column('text', '$pathname')} from events_lean_of($1)
where event = 'order placed' and timestamp > timestamp '2026-10-25' order by timestamp desc limit 101`,
  },
  {
    name: 'events by name',
    query: { kind: 'EventsQuery', select: ['event', 'count()'], after: 'all' },
    sql: 'select event, count(*) as n from events_lean_of($1) group by 1 order by n desc limit 101',
  },
]
