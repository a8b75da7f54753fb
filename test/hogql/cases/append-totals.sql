-- WITH TOTALS adds a row
select event, 7, count(), uniq(distinct_id) as users from events group by event with totals order by event desc
(SELECT t1."event" AS c1, $2::BIGINT AS c2, count(*) AS c3, count(DISTINCT t1."distinct_id") AS c4
  FROM events_lean_of($3::BIGINT) AS t1
  GROUP BY t1."event"
  ORDER BY 1 DESC)
UNION ALL (SELECT coalesce(any_value(t2."event") FILTER (WHERE FALSE), $1::VARCHAR) AS c5, $2::BIGINT AS c6, count(*) AS c7, count(DISTINCT t2."distinct_id") AS c8
  FROM events_lean_of($3::BIGINT) AS t2)
LIMIT $4::BIGINT
-- [["purchase","7","2","2"],["$pageview","7","3","3"],["","7","5","4"]]

-- totals come after the LIMIT
select distinct_id as d, count() from events group by d with totals order by d limit 1
(SELECT t1."distinct_id" AS c1, count(*) AS c2
  FROM events_lean_of($2::BIGINT) AS t1
  GROUP BY t1."distinct_id"
  ORDER BY 1
  LIMIT $3::BIGINT)
UNION ALL (SELECT coalesce(any_value(t2."distinct_id") FILTER (WHERE FALSE), $1::VARCHAR) AS c3, count(*) AS c4
  FROM events_lean_of($2::BIGINT) AS t2)
LIMIT least(($3::BIGINT + $3::BIGINT), $4::BIGINT)
-- [["d1","2"],["","5"]]

-- WITH TOTALS after HAVING sums the groups that remain
select event, count() as n from events group by event with totals having n > 1 order by event desc
(SELECT t1."event" AS c1, count(*) AS c2
  FROM events_lean_of($2::BIGINT) AS t1
  GROUP BY t1."event"
  HAVING (count(*) > $3::BIGINT)
  ORDER BY 1 DESC)
UNION ALL (SELECT coalesce(any_value(t2."event") FILTER (WHERE FALSE), $1::VARCHAR) AS c7, count(*) AS c8
  FROM events_lean_of($2::BIGINT) AS t2
  WHERE (t2."event" IN (SELECT t4."c5" AS c6
    FROM (SELECT t3."event" AS c3, count(*) AS c4, t3."event" AS c5
      FROM events_lean_of($2::BIGINT) AS t3
      GROUP BY t3."event"
      HAVING (count(*) > $3::BIGINT)) AS t4)))
LIMIT $4::BIGINT
-- [["purchase","2"],["$pageview","3"],["","5"]]

-- A window of the totals has one row
select distinct_id as d, count() as n, sum(n) over () as of_all from events group by d with totals order by d
(SELECT t1."distinct_id" AS c1, count(*) AS c2, coalesce((sum(count(*)) OVER ())::BIGINT, $2::BIGINT) AS c3
  FROM events_lean_of($3::BIGINT) AS t1
  GROUP BY t1."distinct_id"
  ORDER BY 1)
UNION ALL (SELECT coalesce(any_value(t2."distinct_id") FILTER (WHERE FALSE), $1::VARCHAR) AS c4, count(*) AS c5, coalesce((sum(count(*)) OVER ())::BIGINT, $2::BIGINT) AS c6
  FROM events_lean_of($3::BIGINT) AS t2)
LIMIT $4::BIGINT
-- [["d1","2","5"],["d2","1","5"],["d3","1","5"],["d4","1","5"],["","5","5"]]
