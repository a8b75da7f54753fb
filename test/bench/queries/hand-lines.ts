/** The queries that are measured beside Parquet made by hand, and what that Parquet holds. */

export type HandLine = {
  readonly name: string
  readonly hogql: string
  /** Over the view `events` with the columns below; answers the same rows in the same order. */
  readonly sql: string
}

const text = (name: string): string => `json_extract_string(e.properties, '/${name}')`
const number = (name: string): string => `try_cast(${text(name)} as double)`

/** Columns beside event, distinct_id, person_id and timestamp. */
export const HAND_COLUMNS = {
  browser: text('$browser'),
  os: text('$os'),
  url: text('$current_url'),
  path: text('$pathname'),
  session_id: text('$session_id'),
  country: text('$geoip_country_code'),
  plan: text('plan'),
  source: text('utm_source'),
  load_ms: number('load_ms'),
  price: number('price'),
  quantity: number('quantity'),
} as const satisfies Record<string, string>

const QUARTER_HOGQL = "timestamp >= '2026-08-01' and timestamp < '2026-11-01'"
const QUARTER_SQL = "timestamp >= timestamp '2026-08-01' and timestamp < timestamp '2026-11-01'"

export const LINES: readonly HandLine[] = [
  {
    name: 'all events',
    hogql: 'select count() from events',
    sql: 'select count(*) from events',
  },
  {
    name: 'events of the last week',
    hogql: 'select count() from events where timestamp >= now() - interval 7 day',
    sql: "select count(*) from events where timestamp >= timestamp '2026-10-25'",
  },
  {
    name: 'most frequent events',
    hogql: 'select event, count() as n from events group by event order by n desc, event limit 10',
    sql: 'select event, count(*) as n from events group by event order by n desc, event limit 10',
  },
  {
    name: 'page views per day of a quarter',
    hogql: `select toDate(timestamp) as day, count() from events
      where event = '$pageview' and ${QUARTER_HOGQL} group by day order by day`,
    sql: `select timestamp::date as day, count(*) from events
      where event = '$pageview' and ${QUARTER_SQL} group by day order by day`,
  },
  {
    name: 'people per week',
    hogql: `select toMonday(timestamp) as week, uniq(person_id) from events
      where ${QUARTER_HOGQL} group by week order by week`,
    sql: `select date_trunc('week', timestamp)::date as week, count(distinct person_id) from events
      where ${QUARTER_SQL} group by week order by week`,
  },
  {
    name: 'by browser',
    hogql:
      'select properties.$browser as b, count() as n from events group by b order by n desc, b limit 100',
    sql: 'select browser as b, count(*) as n from events group by b order by n desc, b limit 100',
  },
  {
    name: 'by page and country',
    hogql: `select properties.$pathname as p, properties.$geoip_country_code as c, count() as n
      from events where event = '$pageview' group by p, c order by n desc, p, c limit 50`,
    sql: `select path as p, country as c, count(*) as n
      from events where event = '$pageview' group by p, c order by n desc, p, c limit 50`,
  },
  {
    // Sums of cents, whose last digits depend on the order of addition: half a cent keeps whole ones whole.
    name: 'revenue by plan and month',
    hogql: `select toStartOfMonth(timestamp) as month, properties.plan as plan,
        toInt64(sum(properties.price * properties.quantity) + 0.005) as revenue
      from events where event = 'order placed' group by month, plan order by month, plan limit 200`,
    sql: `select date_trunc('month', timestamp)::date as month, plan,
        trunc(sum(price * quantity) + 0.005)::bigint as revenue
      from events where event = 'order placed' group by month, plan order by month, plan limit 200`,
  },
  {
    name: 'pages that hold a text',
    hogql: "select count() from events where properties.$current_url ilike '%/CHECKOUT%'",
    sql: "select count(*) from events where url ilike '%/CHECKOUT%'",
  },
  {
    name: 'slow pages',
    hogql: `select properties.$pathname as p, toInt64(quantile(0.95)(properties.load_ms)) as slow, count() as n
      from events where event = '$pageview' and properties.load_ms > 1000 and ${QUARTER_HOGQL}
      group by p order by n desc, p limit 20`,
    sql: `select path as p, trunc(quantile_cont(load_ms, 0.95))::bigint as slow, count(*) as n
      from events where event = '$pageview' and load_ms > 1000 and ${QUARTER_SQL}
      group by p order by n desc, p limit 20`,
  },
  {
    name: 'pages that contain a text in this case',
    hogql: "select count() from events where properties.$current_url like '%/checkout%'",
    sql: "select count(*) from events where url like '%/checkout%'",
  },
  {
    name: 'exact quantiles by page',
    hogql: `select properties.$pathname as p, toInt64(quantileExact(0.9)(properties.load_ms)) as slow, count() as n
      from events where event = '$pageview' group by p order by n desc, p limit 20`,
    // The element at floor(0.9 × n), also where the product is whole.
    sql: `select path as p, trunc(quantile_disc(load_ms, 0.900000001))::bigint as slow, count(*) as n
      from events where event = '$pageview' group by p order by n desc, p limit 20`,
  },
  {
    name: 'most active people',
    hogql:
      'select person_id, count() as n from events group by person_id order by n desc, person_id limit 10',
    sql: 'select person_id, count(*) as n from events group by person_id order by n desc, person_id limit 10',
  },
  {
    name: 'events by month as text',
    hogql: `select formatDateTime(timestamp, '%Y-%m') as m, count() from events
      where ${QUARTER_HOGQL} group by m order by m`,
    sql: `select strftime(timestamp, '%Y-%m') as m, count(*) from events
      where ${QUARTER_SQL} group by m order by m`,
  },
  {
    name: 'conditional counts per month',
    hogql: `select toStartOfMonth(timestamp) as m, countIf(event = '$pageview'), countIf(properties.$os = 'Linux'),
        uniqIf(distinct_id, event = 'order placed') from events group by m order by m limit 200`,
    sql: `select date_trunc('month', timestamp)::date as m, count(*) filter (event = '$pageview'), count(*) filter (os = 'Linux'),
        count(distinct distinct_id) filter (event = 'order placed') from events group by m order by m limit 200`,
  },
  {
    name: 'sessions of a quarter',
    hogql: `select count(), toInt64(avg(length)), sum(views) from (
        select properties.$session_id as s, dateDiff('second', min(timestamp), max(timestamp)) as length,
          countIf(event = '$pageview') as views
        from events where ${QUARTER_HOGQL} group by s)`,
    sql: `select count(*), trunc(avg(length))::bigint, sum(views) from (
        select session_id as s, date_diff('second', min(timestamp), max(timestamp)) as length,
          count(*) filter (event = '$pageview') as views
        from events where ${QUARTER_SQL} group by s)`,
  },
  {
    name: 'two steps within a week',
    hogql: `select count() from (
        select person_id, minIf(timestamp, event = '$pageview') as a, maxIf(timestamp, event = 'order placed') as b
        from events where ${QUARTER_HOGQL} group by person_id)
      where a > toDateTime(0) and b > a and dateDiff('day', a, b) < 7`,
    sql: `select count(*) from (
        select person_id, min(timestamp) filter (event = '$pageview') as a, max(timestamp) filter (event = 'order placed') as b
        from events where ${QUARTER_SQL} group by person_id)
      where b > a and date_diff('day', a, b) < 7`,
  },
  {
    name: 'the latest orders',
    hogql: `select distinct_id, timestamp, properties.price from events
      where event = 'order placed' order by timestamp desc, distinct_id limit 50`,
    sql: `select distinct_id, timestamp, price from events
      where event = 'order placed' order by timestamp desc, distinct_id limit 50`,
  },
]
