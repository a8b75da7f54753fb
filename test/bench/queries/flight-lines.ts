/** The queries and insights about flights, and the statements over the view `flights` that answer the same rows. */

import type { InsightLine } from '../insights/insight-line.ts'
import type { HandLine } from './hand-lines.ts'

export const FLIGHT_QUESTIONS: readonly HandLine[] = [
  {
    name: 'all flights',
    hogql: 'select count() from events',
    sql: 'select count(*) from flights',
  },
  {
    name: 'flights of the last week',
    hogql: "select count() from events where timestamp >= toDateTime('2001-06-24 00:00:00')",
    sql: "select count(*) from flights where timestamp >= timestamp '2001-06-24'",
  },
  {
    name: 'flights per day',
    hogql:
      'select toDate(timestamp) as day, count() from events group by day order by day limit 1000',
    sql: 'select timestamp::date as day, count(*) from flights group by day order by day',
  },
  {
    name: 'flights per hour of the day',
    hogql: 'select toHour(timestamp) as h, count() from events group by h order by h',
    sql: 'select hour(timestamp) as h, count(*) from flights group by h order by h',
  },
  {
    name: 'flights by month as text',
    hogql:
      "select formatDateTime(timestamp, '%Y-%m') as m, count() from events group by m order by m",
    sql: "select strftime(timestamp, '%Y-%m') as m, count(*) from flights group by m order by m",
  },
  {
    name: 'ten busiest origins',
    hogql:
      'select properties.origin as o, count() as n from events group by o order by n desc, o limit 10',
    sql: 'select origin as o, count(*) as n from flights group by o order by n desc, o limit 10',
  },
  {
    name: 'ten busiest pairs',
    hogql: `select properties.origin as o, properties.destination as d, count() as n from events
      group by o, d order by n desc, o, d limit 10`,
    sql: `select origin as o, destination as d, count(*) as n from flights
      group by o, d order by n desc, o, d limit 10`,
  },
  {
    name: 'ten busiest persons',
    hogql: 'select person_id as p, count() as n from events group by p order by n desc, p limit 10',
    sql: 'select person_id as p, count(*) as n from flights group by p order by n desc, p limit 10',
  },
  {
    name: 'persons per month',
    hogql:
      'select toStartOfMonth(timestamp) as m, uniq(person_id) from events group by m order by m',
    sql: "select date_trunc('month', timestamp)::date as m, count(distinct person_id) from flights group by m order by m",
  },
  {
    name: 'persons per origin',
    hogql: `select properties.origin as o, uniq(person_id) as n from events
      group by o order by n desc, o limit 20`,
    sql: `select origin as o, count(distinct person_id) as n from flights
      group by o order by n desc, o limit 20`,
  },
  {
    name: 'delays: least, most, sum',
    hogql: `select toInt64(min(properties.delay)), toInt64(max(properties.delay)), toInt64(sum(properties.delay))
      from events`,
    sql: 'select min(delay), max(delay), sum(delay) from flights',
  },
  {
    name: 'exact median of delays by month',
    hogql: `select toStartOfMonth(timestamp) as m, toInt64(quantileExact(0.5)(properties.delay)) from events
      group by m order by m`,
    // The element at floor(0.5 × n), also where the product is whole.
    sql: `select date_trunc('month', timestamp)::date as m, quantile_disc(delay, 0.500000001) from flights
      group by m order by m`,
  },
  {
    name: 'exact ninetieth percentile of delays by origin',
    hogql: `select properties.origin as o, toInt64(quantileExact(0.9)(properties.delay)), count() as n from events
      group by o order by n desc, o limit 20`,
    sql: `select origin as o, quantile_disc(delay, 0.900000001), count(*) as n from flights
      group by o order by n desc, o limit 20`,
  },
  {
    name: 'late flights by origin',
    hogql: `select properties.origin as o, countIf(properties.delay > 60) as n from events
      group by o order by n desc, o limit 20`,
    sql: `select origin as o, count(*) filter (delay > 60) as n from flights
      group by o order by n desc, o limit 20`,
  },
  {
    name: 'origins that begin with a letter',
    hogql: "select count() from events where properties.origin like 'S%'",
    sql: "select count(*) from flights where origin like 'S%'",
  },
  {
    name: 'distances in steps',
    hogql: `select toInt64(floor(properties.distance / 500)) as s, count() from events
      where properties.distance > 0 group by s order by s`,
    sql: `select floor(distance / 500)::bigint as s, count(*) from flights
      where distance > 0 group by s order by s`,
  },
  {
    name: 'miles by day of the week',
    hogql: `select toDayOfWeek(timestamp) as d, toInt64(sum(properties.distance)) from events
      group by d order by d`,
    sql: 'select isodow(timestamp) as d, sum(distance) from flights group by d order by d',
  },
]

const BASE = {
  kind: 'TrendsQuery' as const,
  dateRange: { date_from: '2001-01-01', date_to: '2001-06-30' },
}
/** All events are flights: the statements by hand look at no name of an event, so these do not either. */
const flights = (members: object = {}) => [{ kind: 'EventsNode' as const, event: null, ...members }]
/** The insights' days end before the last minute of the data. */
const WITHIN = "timestamp < timestamp '2001-07-01'"
const WEEK = 'timestamp::date - dayofweek(timestamp)::integer'

export const FLIGHT_INSIGHTS: readonly InsightLine[] = [
  {
    name: 'flights per day',
    query: { ...BASE, series: flights() },
    sql: `select count(*) from flights where ${WITHIN} group by timestamp::date order by timestamp::date`,
  },
  {
    name: 'flights per week by origin, the first 25 and others',
    query: {
      ...BASE,
      interval: 'week',
      series: flights(),
      breakdownFilter: { breakdown: 'origin' },
    },
    sql: `with counted as materialized (
  select ${WEEK} as week, origin, count(*) as n from flights where ${WITHIN} group by all
), best as (
  select origin, sum(n) as total, row_number() over (order by sum(n) desc, origin) as place
  from counted group by origin qualify place <= 25
), ranked as (
  select week, coalesce(place, 26) as place, sum(n) as n from counted left join best using (origin) group by all
)
select coalesce(n, 0) from (select distinct week from ranked) cross join (select distinct place from ranked)
left join ranked using (week, place) order by place, week`,
  },
  {
    name: 'persons per week',
    query: { ...BASE, interval: 'week', series: flights({ math: 'dau' }) },
    sql: `select count(distinct person_id) from flights where ${WITHIN} group by ${WEEK} order by ${WEEK}`,
  },
  {
    name: 'miles per day',
    query: { ...BASE, series: flights({ math: 'sum', math_property: 'distance' }) },
    sql: `select sum(distance) from flights where ${WITHIN} group by timestamp::date order by timestamp::date`,
  },
  {
    name: 'late flights per day',
    query: {
      ...BASE,
      series: flights({
        properties: [{ key: 'delay', type: 'event', value: 60, operator: 'gt' }],
      }),
    },
    sql: `select count(*) from flights where ${WITHIN} and delay > 60 group by timestamp::date order by timestamp::date`,
  },
]
