-- a session is worked out from its events
select session_id, $start_timestamp, $end_timestamp, $session_duration, $pageview_count, $is_bounce from sessions
SELECT t2."c1" AS c7, t2."c2" AS c8, t2."c3" AS c9, t2."c4" AS c10, t2."c5" AS c11, (t2."c6")::UTINYINT AS c12
FROM (SELECT coalesce(json_extract_string(t1."properties", $1::VARCHAR), '') AS c1, coalesce(min(t1."timestamp"), $2::TIMESTAMP) AS c2, coalesce(max(t1."timestamp"), $2::TIMESTAMP) AS c3, date_diff($3::VARCHAR, coalesce(min(t1."timestamp"), $2::TIMESTAMP), coalesce(max(t1."timestamp"), $2::TIMESTAMP)) AS c4, count(*) FILTER (WHERE (t1."event" = $4::VARCHAR)) AS c5, CASE WHEN ((count(*) FILTER (WHERE (t1."event" = $4::VARCHAR)) + count(*) FILTER (WHERE (t1."event" = $5::VARCHAR))) = $6::BIGINT) THEN NULL ELSE (NOT (((count(*) FILTER (WHERE (t1."event" = $4::VARCHAR)) + count(*) FILTER (WHERE (t1."event" = $5::VARCHAR))) > $7::BIGINT) OR (count(*) FILTER (WHERE (t1."event" = $8::VARCHAR)) > $6::BIGINT) OR (date_diff($3::VARCHAR, coalesce(min(t1."timestamp"), $2::TIMESTAMP), coalesce(max(t1."timestamp"), $2::TIMESTAMP)) >= $9::BIGINT))) END AS c6
  FROM events_of($10::BIGINT) AS t1
  WHERE (coalesce(json_extract_string(t1."properties", $1::VARCHAR), '') <> $11::VARCHAR)
  GROUP BY coalesce(json_extract_string(t1."properties", $1::VARCHAR), '')) AS t2
LIMIT $12::BIGINT
-- [["s1","2024-06-01 10:00:00","2024-06-01 10:00:00","0","1",1]]

-- what is not asked for is not computed
select count() from sessions
SELECT count(*) AS c1
FROM (SELECT coalesce(json_extract_string(t1."properties", $1::VARCHAR), '') AS c2
  FROM events_of($2::BIGINT) AS t1
  WHERE (coalesce(json_extract_string(t1."properties", $1::VARCHAR), '') <> $3::VARCHAR)
  GROUP BY coalesce(json_extract_string(t1."properties", $1::VARCHAR), '')) AS t2
LIMIT $4::BIGINT
-- [["1"]]

-- a range of starts bounds the events that are looked at
select id from sessions where $start_timestamp >= '2024-06-01' and $start_timestamp < '2024-06-02'
SELECT t2."c1" AS c3
FROM (SELECT coalesce(json_extract_string(t1."properties", $1::VARCHAR), '') AS c1, coalesce(min(t1."timestamp"), $2::TIMESTAMP) AS c2
  FROM events_of($3::BIGINT) AS t1
  WHERE ((coalesce(json_extract_string(t1."properties", $1::VARCHAR), '') <> $4::VARCHAR) AND (t1."timestamp" >= $5::TIMESTAMP) AND (t1."timestamp" < $6::TIMESTAMP))
  GROUP BY coalesce(json_extract_string(t1."properties", $1::VARCHAR), '')) AS t2
WHERE ((t2."c2" >= $7::TIMESTAMP) AND (t2."c2" < $8::TIMESTAMP))
LIMIT $9::BIGINT
-- [["s1"]]

-- a day of starts too
select $entry_current_url, $entry_pathname, $entry_hostname from sessions where toDate($end_timestamp) = '2024-06-01'
SELECT t2."c1" AS c5, t2."c2" AS c6, t2."c3" AS c7
FROM (SELECT arg_min(nullif(json_extract_string(t1."properties", $1::VARCHAR), $2::VARCHAR), t1."timestamp") AS c1, ch_path(arg_min(nullif(json_extract_string(t1."properties", $1::VARCHAR), $2::VARCHAR), t1."timestamp")) AS c2, ch_domain(arg_min(nullif(json_extract_string(t1."properties", $1::VARCHAR), $2::VARCHAR), t1."timestamp")) AS c3, coalesce(max(t1."timestamp"), $3::TIMESTAMP) AS c4
  FROM events_of($4::BIGINT) AS t1
  WHERE ((coalesce(json_extract_string(t1."properties", $5::VARCHAR), '') <> $2::VARCHAR) AND (t1."timestamp" >= $6::TIMESTAMP) AND (t1."timestamp" < $7::TIMESTAMP))
  GROUP BY coalesce(json_extract_string(t1."properties", $5::VARCHAR), '')) AS t2
WHERE (((t2."c4")::DATE = $8::DATE) AND (t2."c4" >= $9::TIMESTAMP) AND (t2."c4" < $10::TIMESTAMP))
LIMIT $11::BIGINT
-- [["https://a.com/x","/x","a.com"]]

-- events reach their session, whose events lie near
select event, session.$urls, session.duration from events where timestamp >= '2024-06-01' and timestamp < '2024-06-02' order by timestamp
SELECT t1."event" AS c4, t3."c2" AS c5, t3."c3" AS c6
FROM events_of($1::BIGINT) AS t1
LEFT JOIN (SELECT coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') AS c1, ch_array_distinct(list_filter(coalesce(list(json_extract_string(t2."properties", $3::VARCHAR) ORDER BY t2."timestamp") FILTER (WHERE ((json_extract_string(t2."properties", $3::VARCHAR) IS DISTINCT FROM $4::VARCHAR) AND (json_extract_string(t2."properties", $3::VARCHAR) IS NOT NULL))), []), lambda e: e IS NOT NULL)) AS c2, date_diff($5::VARCHAR, coalesce(min(t2."timestamp"), $6::TIMESTAMP), coalesce(max(t2."timestamp"), $6::TIMESTAMP)) AS c3
  FROM events_of($1::BIGINT) AS t2
  WHERE ((coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') <> $4::VARCHAR) AND (t2."timestamp" >= $7::TIMESTAMP) AND (t2."timestamp" < $8::TIMESTAMP))
  GROUP BY coalesce(json_extract_string(t2."properties", $2::VARCHAR), '')) AS t3 ON (t3."c1" = coalesce(json_extract_string(t1."properties", $2::VARCHAR), ''))
WHERE ((t1."timestamp" >= $9::TIMESTAMP) AND (t1."timestamp" < $10::TIMESTAMP))
ORDER BY t1."timestamp"
LIMIT $11::BIGINT
-- [["$pageview",["https://a.com/x"],"0"],["$pageview",null,null]]

-- one session is joined once
select session.$entry_utm_source, session.id from events where session.$pageview_count > 0
SELECT t3."c2" AS c5, t3."c3" AS c6
FROM events_of($1::BIGINT) AS t1
LEFT JOIN (SELECT coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') AS c1, arg_min(nullif(json_extract_string(t2."properties", $3::VARCHAR), $4::VARCHAR), t2."timestamp") AS c2, coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') AS c3, count(*) FILTER (WHERE (t2."event" = $5::VARCHAR)) AS c4
  FROM events_of($1::BIGINT) AS t2
  WHERE (coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') <> $4::VARCHAR)
  GROUP BY coalesce(json_extract_string(t2."properties", $2::VARCHAR), '')) AS t3 ON (t3."c1" = coalesce(json_extract_string(t1."properties", $2::VARCHAR), ''))
WHERE (t3."c4" > $6::BIGINT)
LIMIT $7::BIGINT
-- [[null,"s1"]]

-- sessions joined by hand
select s.distinct_id, count() from sessions s join events e on e.$session_id = s.session_id where s.$start_timestamp > '2024-05-01' group by 1
SELECT t2."c2" AS c4, count(*) AS c5
FROM (SELECT coalesce(json_extract_string(t1."properties", $1::VARCHAR), '') AS c1, coalesce(arg_max(t1."distinct_id", t1."timestamp"), $2::VARCHAR) AS c2, coalesce(min(t1."timestamp"), $3::TIMESTAMP) AS c3
  FROM events_of($4::BIGINT) AS t1
  WHERE ((coalesce(json_extract_string(t1."properties", $1::VARCHAR), '') <> $2::VARCHAR) AND (t1."timestamp" >= $5::TIMESTAMP))
  GROUP BY coalesce(json_extract_string(t1."properties", $1::VARCHAR), '')) AS t2
INNER JOIN events_of($4::BIGINT) AS t3 ON (coalesce(json_extract_string(t3."properties", $1::VARCHAR), '') = t2."c1")
WHERE (t2."c3" > $6::TIMESTAMP)
GROUP BY t2."c2"
LIMIT $7::BIGINT
-- [["d1","1"]]
