/** EXAMPLES: queries for an empty tab. */
export const EXAMPLES: readonly { readonly title: string; readonly text: string }[] = [
  {
    title: 'Events by name',
    text: 'select event, count() as events, uniq(person_id) as persons\nfrom events\nwhere timestamp > now() - interval 30 day\ngroup by event\norder by events desc',
  },
  {
    title: 'Active persons by day',
    text: 'select toDate(timestamp) as day, uniq(person_id) as persons\nfrom events\nwhere timestamp > now() - interval 30 day\ngroup by day\norder by day',
  },
  {
    title: 'Most viewed pages',
    text: "select properties.$pathname as path, count() as views\nfrom events\nwhere event = '$pageview'\ngroup by path\norder by views desc\nlimit 20",
  },
  {
    title: 'Newest persons',
    text: 'select created_at, properties.email as email, id\nfrom persons\norder by created_at desc\nlimit 50',
  },
  {
    title: 'Length of sessions',
    text: 'select quantile(0.5)(session_duration) as median_s, quantile(0.9)(session_duration) as p90_s, count() as sessions\nfrom (select $session_duration as session_duration from sessions)',
  },
  {
    title: 'Events of the last hour',
    text: 'select timestamp, event, distinct_id, properties\nfrom events\nwhere timestamp > now() - interval 1 hour\norder by timestamp desc',
  },
]
