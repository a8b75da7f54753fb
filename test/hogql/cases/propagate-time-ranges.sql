-- a lower bound on a session bounds the events it is computed from, three days earlier
select count() from events where session.$start_timestamp >= '2024-06-01'
SELECT count(*) AS c3
FROM events_of($1::BIGINT) AS t1
LEFT JOIN (SELECT coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') AS c1, coalesce(min(t2."timestamp"), $3::TIMESTAMP) AS c2
  FROM events_of($1::BIGINT) AS t2
  WHERE ((coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') <> $4::VARCHAR) AND (t2."timestamp" >= $5::TIMESTAMP))
  GROUP BY coalesce(json_extract_string(t2."properties", $2::VARCHAR), '')) AS t3 ON (t3."c1" = coalesce(json_extract_string(t1."properties", $2::VARCHAR), ''))
WHERE (t3."c2" >= $6::TIMESTAMP)
LIMIT $7::BIGINT
-- [["1"]]

-- bounds of the event itself, on both sides
select session.$session_duration from events where timestamp >= '2024-06-01' and timestamp < '2024-06-02' order by timestamp
SELECT t3."c2" AS c3
FROM events_of($1::BIGINT) AS t1
LEFT JOIN (SELECT coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') AS c1, date_diff($3::VARCHAR, coalesce(min(t2."timestamp"), $4::TIMESTAMP), coalesce(max(t2."timestamp"), $4::TIMESTAMP)) AS c2
  FROM events_of($1::BIGINT) AS t2
  WHERE ((coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') <> $5::VARCHAR) AND (t2."timestamp" >= $6::TIMESTAMP) AND (t2."timestamp" < $7::TIMESTAMP))
  GROUP BY coalesce(json_extract_string(t2."properties", $2::VARCHAR), '')) AS t3 ON (t3."c1" = coalesce(json_extract_string(t1."properties", $2::VARCHAR), ''))
WHERE ((t1."timestamp" >= $8::TIMESTAMP) AND (t1."timestamp" < $9::TIMESTAMP))
ORDER BY t1."timestamp"
LIMIT $10::BIGINT
-- [["0"],[null]]

-- no bound without a known range
select count() from events where session.$session_duration >= 0
SELECT count(*) AS c3
FROM events_of($1::BIGINT) AS t1
LEFT JOIN (SELECT coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') AS c1, date_diff($3::VARCHAR, coalesce(min(t2."timestamp"), $4::TIMESTAMP), coalesce(max(t2."timestamp"), $4::TIMESTAMP)) AS c2
  FROM events_of($1::BIGINT) AS t2
  WHERE (coalesce(json_extract_string(t2."properties", $2::VARCHAR), '') <> $5::VARCHAR)
  GROUP BY coalesce(json_extract_string(t2."properties", $2::VARCHAR), '')) AS t3 ON (t3."c1" = coalesce(json_extract_string(t1."properties", $2::VARCHAR), ''))
WHERE (t3."c2" >= $6::BIGINT)
LIMIT $7::BIGINT
-- [["1"]]
