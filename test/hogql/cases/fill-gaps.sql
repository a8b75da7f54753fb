-- missing numbers
select number * 3 as n, 'own' as s from numbers(3) order by n with fill
WITH q1 AS MATERIALIZED (SELECT (t1."c1" * $1::BIGINT) AS c1, $2::VARCHAR AS c2, (t1."c1" * $1::BIGINT) AS c3
  FROM range($3::BIGINT, $1::BIGINT, $4::BIGINT) AS t1(c1)) SELECT t8."c4" AS c18, t8."c5" AS c19
FROM ((SELECT t2."c1" AS c4, t2."c2" AS c5, t2."c3" AS c6, $4::BIGINT AS c7
  FROM q1 AS t2) UNION ALL (SELECT t6."c12" AS c14, $5::VARCHAR AS c15, t6."c12" AS c16, $3::BIGINT AS c17
  FROM (SELECT t4."c9" AS c11, t5."c1" AS c12
    FROM (SELECT coalesce(min(t3."c3"), $3::BIGINT) AS c8, coalesce(max(t3."c3"), $3::BIGINT) AS c9, count(*) AS c10
      FROM q1 AS t3
      HAVING (count(*) > $3::BIGINT)) AS t4
    CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c9", '2': t4."c8"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest(ceil((ch_divide((struct_extract_at(x1000005, 1) - struct_extract_at(x1000005, 2)), $4::BIGINT))::DOUBLE), ($3::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000005, 2) + (x1 * $4::BIGINT))))[1]) AS c1) AS t5) AS t6
  WHERE ((t6."c12" < t6."c11") AND (NOT (t6."c12" IN (SELECT t7."c3" AS c13
    FROM q1 AS t7)))))) AS t8
ORDER BY t8."c6"
LIMIT $6::BIGINT
-- [["0","own"],["1",""],["2",""],["3","own"],["4",""],["5",""],["6","own"]]

-- from, to and step
select n, s from (select number * 2 as n, 'own' as s from numbers(2)) order by n with fill from 0 to 5 step 1
WITH q1 AS MATERIALIZED (SELECT t2."c1" AS c3, t2."c2" AS c4, t2."c1" AS c5
  FROM (SELECT (t1."c1" * $1::BIGINT) AS c1, $2::VARCHAR AS c2
    FROM range($3::BIGINT, $1::BIGINT, $4::BIGINT) AS t1(c1)) AS t2) SELECT t9."c6" AS c20, t9."c7" AS c21
FROM ((SELECT t3."c3" AS c6, t3."c4" AS c7, t3."c5" AS c8, $4::BIGINT AS c9
  FROM q1 AS t3) UNION ALL (SELECT t7."c14" AS c16, $5::VARCHAR AS c17, t7."c14" AS c18, $3::BIGINT AS c19
  FROM (SELECT t5."c11" AS c13, t6."c1" AS c14
    FROM (SELECT $3::BIGINT AS c10, $6::BIGINT AS c11, count(*) AS c12
      FROM q1 AS t4) AS t5
    CROSS JOIN (SELECT unnest(list_transform([{'1': t5."c11", '2': t5."c10"}], lambda x1000006: list_transform(ch_range(0, trunc(greatest(ceil((ch_divide((struct_extract_at(x1000006, 1) - struct_extract_at(x1000006, 2)), $4::BIGINT))::DOUBLE), ($3::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000006, 2) + (x1 * $4::BIGINT))))[1]) AS c1) AS t6) AS t7
  WHERE ((t7."c14" < t7."c13") AND (NOT (t7."c14" IN (SELECT t8."c5" AS c15
    FROM q1 AS t8)))))) AS t9
ORDER BY t9."c8"
LIMIT $7::BIGINT
-- [["0","own"],["1",""],["2","own"],["3",""],["4",""]]

-- downwards
select number * 2 as n from numbers(3) order by n desc with fill from 5 to -1 step -1
WITH q1 AS MATERIALIZED (SELECT (t1."c1" * $1::BIGINT) AS c1, (t1."c1" * $1::BIGINT) AS c2
  FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)) SELECT t8."c3" AS c15
FROM ((SELECT t2."c1" AS c3, t2."c2" AS c4, $4::BIGINT AS c5
  FROM q1 AS t2) UNION ALL (SELECT t6."c10" AS c12, t6."c10" AS c13, $2::BIGINT AS c14
  FROM (SELECT t4."c7" AS c9, t5."c1" AS c10
    FROM (SELECT $5::BIGINT AS c6, $6::BIGINT AS c7, count(*) AS c8
      FROM q1 AS t3) AS t4
    CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c7", '2': t4."c6"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest(ceil((ch_divide((struct_extract_at(x1000005, 1) - struct_extract_at(x1000005, 2)), $6::BIGINT))::DOUBLE), ($2::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000005, 2) + (x1 * $6::BIGINT))))[1]) AS c1) AS t5) AS t6
  WHERE ((t6."c10" > t6."c9") AND (NOT (t6."c10" IN (SELECT t7."c2" AS c11
    FROM q1 AS t7)))))) AS t8
ORDER BY t8."c4" DESC
LIMIT $7::BIGINT
-- [["5"],["4"],["3"],["2"],["1"],["0"]]

-- days without events
select toDate(timestamp) as day, count() as c from events group by day order by day with fill from '2024-05-31' to '2024-06-04'
WITH q1 AS MATERIALIZED (SELECT (t1."timestamp")::DATE AS c1, count(*) AS c2, (t1."timestamp")::DATE AS c3
  FROM events_lean_of($1::BIGINT) AS t1
  GROUP BY (t1."timestamp")::DATE) SELECT t8."c4" AS c18, t8."c5" AS c19
FROM ((SELECT t2."c1" AS c4, t2."c2" AS c5, t2."c3" AS c6, $6::BIGINT AS c7
  FROM q1 AS t2) UNION ALL (SELECT t6."c12" AS c14, $2::BIGINT AS c15, t6."c12" AS c16, $2::BIGINT AS c17
  FROM (SELECT t4."c9" AS c11, t5."c1" AS c12
    FROM (SELECT $3::DATE AS c8, $4::DATE AS c9, count(*) AS c10
      FROM q1 AS t3) AS t4
    CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c8", '2': t4."c9"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest((ceil((ch_divide(date_diff($5::VARCHAR, struct_extract_at(x1000005, 1), struct_extract_at(x1000005, 2)), $6::BIGINT))::DOUBLE) + $6::BIGINT), ($2::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: ((struct_extract_at(x1000005, 1) + to_days(trunc((x1 * $6::BIGINT))::INTEGER)))::DATE))[1]) AS c1) AS t5) AS t6
  WHERE ((t6."c12" < t6."c11") AND (NOT (t6."c12" IN (SELECT t7."c3" AS c13
    FROM q1 AS t7)))))) AS t8
ORDER BY t8."c6"
LIMIT $7::BIGINT
-- [["2024-05-31","0"],["2024-06-01","2"],["2024-06-02","1"],["2024-06-03","0"],["2024-06-10","1"],["2024-06-12","1"]]

-- months
select toStartOfMonth(timestamp) as m, count() from events group by m order by m with fill from toDate('2024-04-01') to toDate('2024-08-01') step interval 1 month
WITH q1 AS MATERIALIZED (SELECT least(greatest(((t1."timestamp")::DATE - (day((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06') AS c1, count(*) AS c2, least(greatest(((t1."timestamp")::DATE - (day((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06') AS c3
  FROM events_lean_of($1::BIGINT) AS t1
  GROUP BY least(greatest(((t1."timestamp")::DATE - (day((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06')) SELECT t8."c4" AS c18, t8."c5" AS c19
FROM ((SELECT t2."c1" AS c4, t2."c2" AS c5, t2."c3" AS c6, $6::BIGINT AS c7
  FROM q1 AS t2) UNION ALL (SELECT t6."c12" AS c14, $2::BIGINT AS c15, t6."c12" AS c16, $2::BIGINT AS c17
  FROM (SELECT t4."c9" AS c11, t5."c1" AS c12
    FROM (SELECT $3::DATE AS c8, $4::DATE AS c9, count(*) AS c10
      FROM q1 AS t3) AS t4
    CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c8", '2': t4."c9"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest((ceil((ch_divide(date_diff($5::VARCHAR, struct_extract_at(x1000005, 1), struct_extract_at(x1000005, 2)), $6::BIGINT))::DOUBLE) + $6::BIGINT), ($2::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: ((struct_extract_at(x1000005, 1) + to_months(trunc((x1 * $6::BIGINT))::INTEGER)))::DATE))[1]) AS c1) AS t5) AS t6
  WHERE ((t6."c12" < t6."c11") AND (NOT (t6."c12" IN (SELECT t7."c3" AS c13
    FROM q1 AS t7)))))) AS t8
ORDER BY t8."c6"
LIMIT $7::BIGINT
-- [["2024-04-01","0"],["2024-05-01","0"],["2024-06-01","5"],["2024-07-01","0"]]

-- hours of the clock
select toStartOfHour(timestamp) as h, count() as c, any(event) from events where timestamp < '2024-06-02' group by h order by h with fill step interval 6 hour limit 4
WITH q1 AS MATERIALIZED (SELECT date_trunc($1::VARCHAR, t1."timestamp") AS c1, count(*) AS c2, coalesce(any_value(t1."event"), $2::VARCHAR) AS c3, date_trunc($1::VARCHAR, t1."timestamp") AS c4
  FROM events_lean_of($3::BIGINT) AS t1
  WHERE (t1."timestamp" < $4::TIMESTAMP)
  GROUP BY date_trunc($1::VARCHAR, t1."timestamp")) SELECT t8."c5" AS c21, t8."c6" AS c22, t8."c7" AS c23
FROM ((SELECT t2."c1" AS c5, t2."c2" AS c6, t2."c3" AS c7, t2."c4" AS c8, $8::BIGINT AS c9
  FROM q1 AS t2) UNION ALL (SELECT t6."c14" AS c16, $5::BIGINT AS c17, $2::VARCHAR AS c18, t6."c14" AS c19, $5::BIGINT AS c20
  FROM (SELECT t4."c11" AS c13, t5."c1" AS c14
    FROM (SELECT coalesce(min(t3."c4"), $6::TIMESTAMP) AS c10, coalesce(max(t3."c4"), $6::TIMESTAMP) AS c11, count(*) AS c12
      FROM q1 AS t3
      HAVING (count(*) > $5::BIGINT)) AS t4
    CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c10", '2': t4."c11"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest((ceil((ch_divide(date_diff($1::VARCHAR, struct_extract_at(x1000005, 1), struct_extract_at(x1000005, 2)), $7::BIGINT))::DOUBLE) + $8::BIGINT), ($5::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000005, 1) + to_hours(trunc((x1 * $7::BIGINT))::BIGINT))))[1]) AS c1) AS t5) AS t6
  WHERE ((t6."c14" < t6."c13") AND (NOT (t6."c14" IN (SELECT t7."c4" AS c15
    FROM q1 AS t7)))))) AS t8
ORDER BY t8."c8"
LIMIT $9::BIGINT
-- [["2024-06-01 10:00:00","1","$pageview"],["2024-06-01 16:00:00","0",""],["2024-06-01 22:00:00","0",""],["2024-06-01 23:00:00","1","$pageview"]]

-- each group of the keys before is filled
select event, toDayOfMonth(timestamp) as d, count() from events where d < 3 or d = 12 group by event, d order by event, d with fill to 4
WITH q1 AS MATERIALIZED (SELECT t1."event" AS c1, day(t1."timestamp") AS c2, count(*) AS c3, t1."event" AS c4, day(t1."timestamp") AS c5
  FROM events_lean_of($1::BIGINT) AS t1
  WHERE ((day(t1."timestamp") < $2::BIGINT) OR (day(t1."timestamp") = $3::BIGINT))
  GROUP BY t1."event", day(t1."timestamp")) SELECT t8."c6" AS c27, t8."c7" AS c28, t8."c8" AS c29
FROM ((SELECT t2."c1" AS c6, t2."c2" AS c7, t2."c3" AS c8, t2."c4" AS c9, t2."c5" AS c10, $6::BIGINT AS c11
  FROM q1 AS t2) UNION ALL (SELECT t6."c16" AS c21, t6."c18" AS c22, $4::BIGINT AS c23, t6."c16" AS c24, t6."c18" AS c25, $4::BIGINT AS c26
  FROM (SELECT t4."c12" AS c16, t4."c14" AS c17, t5."c1" AS c18
    FROM (SELECT t3."c4" AS c12, coalesce(min(t3."c5"), $4::BIGINT) AS c13, $5::BIGINT AS c14, count(*) AS c15
      FROM q1 AS t3
      GROUP BY t3."c4"
      HAVING (count(*) > $4::BIGINT)) AS t4
    CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c14", '2': t4."c13"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest(ceil((ch_divide((struct_extract_at(x1000005, 1) - struct_extract_at(x1000005, 2)), $6::BIGINT))::DOUBLE), ($4::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000005, 2) + (x1 * $6::BIGINT))))[1]) AS c1) AS t5) AS t6
  WHERE ((t6."c18" < t6."c17") AND (NOT ((t6."c16", t6."c18") IN (SELECT t7."c4" AS c19, t7."c5" AS c20
    FROM q1 AS t7)))))) AS t8
ORDER BY t8."c9", t8."c10"
LIMIT $7::BIGINT
-- [["$pageview","1","2"],["$pageview","2","0"],["$pageview","3","0"],["$pageview","12","1"],["purchase","2","1"],["purchase","3","0"]]

-- by the number of a column
select number * 2 as n, NULL as x from numbers(2) order by 1 with fill
WITH q1 AS MATERIALIZED (SELECT (t1."c1" * $1::BIGINT) AS c1, NULL AS c2, (t1."c1" * $1::BIGINT) AS c3
  FROM range($2::BIGINT, $1::BIGINT, $3::BIGINT) AS t1(c1)) SELECT t8."c4" AS c18, t8."c5" AS c19
FROM ((SELECT t2."c1" AS c4, t2."c2" AS c5, t2."c3" AS c6, $3::BIGINT AS c7
  FROM q1 AS t2) UNION ALL (SELECT t6."c12" AS c14, NULL AS c15, t6."c12" AS c16, $2::BIGINT AS c17
  FROM (SELECT t4."c9" AS c11, t5."c1" AS c12
    FROM (SELECT coalesce(min(t3."c3"), $2::BIGINT) AS c8, coalesce(max(t3."c3"), $2::BIGINT) AS c9, count(*) AS c10
      FROM q1 AS t3
      HAVING (count(*) > $2::BIGINT)) AS t4
    CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c9", '2': t4."c8"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest(ceil((ch_divide((struct_extract_at(x1000005, 1) - struct_extract_at(x1000005, 2)), $3::BIGINT))::DOUBLE), ($2::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000005, 2) + (x1 * $3::BIGINT))))[1]) AS c1) AS t5) AS t6
  WHERE ((t6."c12" < t6."c11") AND (NOT (t6."c12" IN (SELECT t7."c3" AS c13
    FROM q1 AS t7)))))) AS t8
ORDER BY t8."c6"
LIMIT $4::BIGINT
-- [["0",null],["1",null],["2",null]]

-- INTERPOLATE carries values on
select n, v, w from (select number * 3 as n, number + 7 as v, 'a' as w from numbers(2)) order by n with fill to 5 interpolate (v, w as 'b')
WITH q1 AS MATERIALIZED (SELECT t2."c1" AS c4, t2."c2" AS c5, t2."c3" AS c6, t2."c1" AS c7
  FROM (SELECT (t1."c1" * $1::BIGINT) AS c1, (t1."c1" + $2::BIGINT) AS c2, $3::VARCHAR AS c3
    FROM range($4::BIGINT, $5::BIGINT, $6::BIGINT) AS t1(c1)) AS t2) SELECT t10."c24" AS c30, CASE WHEN (t10."c28" = $6::BIGINT) THEN t10."c25" ELSE struct_extract_at(coalesce(first_value({'1': t10."c25"}) OVER (PARTITION BY t10."c29" ORDER BY t10."c27"), {'1': $4::BIGINT}), 1) END AS c31, CASE WHEN (t10."c28" = $6::BIGINT) THEN t10."c26" ELSE $7::VARCHAR END AS c32
FROM (SELECT t9."c8" AS c24, t9."c9" AS c25, t9."c10" AS c26, t9."c11" AS c27, t9."c12" AS c28, coalesce((sum(t9."c12") OVER (ORDER BY t9."c11"))::BIGINT, $4::BIGINT) AS c29
  FROM ((SELECT t3."c4" AS c8, t3."c5" AS c9, t3."c6" AS c10, t3."c7" AS c11, $6::BIGINT AS c12
    FROM q1 AS t3) UNION ALL (SELECT t7."c17" AS c19, $4::BIGINT AS c20, $8::VARCHAR AS c21, t7."c17" AS c22, $4::BIGINT AS c23
    FROM (SELECT t5."c14" AS c16, t6."c1" AS c17
      FROM (SELECT coalesce(min(t4."c7"), $4::BIGINT) AS c13, $9::BIGINT AS c14, count(*) AS c15
        FROM q1 AS t4
        HAVING (count(*) > $4::BIGINT)) AS t5
      CROSS JOIN (SELECT unnest(list_transform([{'1': t5."c14", '2': t5."c13"}], lambda x1000006: list_transform(ch_range(0, trunc(greatest(ceil((ch_divide((struct_extract_at(x1000006, 1) - struct_extract_at(x1000006, 2)), $6::BIGINT))::DOUBLE), ($4::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000006, 2) + (x1 * $6::BIGINT))))[1]) AS c1) AS t6) AS t7
    WHERE ((t7."c17" < t7."c16") AND (NOT (t7."c17" IN (SELECT t8."c7" AS c18
      FROM q1 AS t8)))))) AS t9) AS t10
ORDER BY t10."c27"
LIMIT $10::BIGINT
-- [["0","7","a"],["1","7","b"],["2","7","b"],["3","8","a"],["4","8","b"]]

-- nothing but what is missing
select number as n, 'x' as s from numbers(5) where number > 7 order by n with fill from 1 to 3
WITH q1 AS MATERIALIZED (SELECT t1."c1" AS c1, $1::VARCHAR AS c2, t1."c1" AS c3
  FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
  WHERE (t1."c1" > $5::BIGINT)) SELECT t8."c4" AS c18, t8."c5" AS c19
FROM ((SELECT t2."c1" AS c4, t2."c2" AS c5, t2."c3" AS c6, $4::BIGINT AS c7
  FROM q1 AS t2) UNION ALL (SELECT t6."c12" AS c14, $6::VARCHAR AS c15, t6."c12" AS c16, $2::BIGINT AS c17
  FROM (SELECT t4."c9" AS c11, t5."c1" AS c12
    FROM (SELECT $4::BIGINT AS c8, $7::BIGINT AS c9, count(*) AS c10
      FROM q1 AS t3) AS t4
    CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c9", '2': t4."c8"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest(ceil((ch_divide((struct_extract_at(x1000005, 1) - struct_extract_at(x1000005, 2)), $4::BIGINT))::DOUBLE), ($2::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000005, 2) + (x1 * $4::BIGINT))))[1]) AS c1) AS t5) AS t6
  WHERE ((t6."c12" < t6."c11") AND (NOT (t6."c12" IN (SELECT t7."c3" AS c13
    FROM q1 AS t7)))))) AS t8
ORDER BY t8."c6"
LIMIT $8::BIGINT
-- [["1",""],["2",""]]

-- INTERPOLATE alone carries all on
select n, v from (select 1 as n, 2 as v) order by n with fill to 3 interpolate
WITH q1 AS MATERIALIZED (SELECT t1."c1" AS c3, t1."c2" AS c4, t1."c1" AS c5
  FROM (SELECT $1::BIGINT AS c1, $2::BIGINT AS c2) AS t1) SELECT t9."c20" AS c25, CASE WHEN (t9."c23" = $1::BIGINT) THEN t9."c21" ELSE struct_extract_at(coalesce(first_value({'1': t9."c21"}) OVER (PARTITION BY t9."c24" ORDER BY t9."c22"), {'1': $3::BIGINT}), 1) END AS c26
FROM (SELECT t8."c6" AS c20, t8."c7" AS c21, t8."c8" AS c22, t8."c9" AS c23, coalesce((sum(t8."c9") OVER (ORDER BY t8."c8"))::BIGINT, $3::BIGINT) AS c24
  FROM ((SELECT t2."c3" AS c6, t2."c4" AS c7, t2."c5" AS c8, $1::BIGINT AS c9
    FROM q1 AS t2) UNION ALL (SELECT t6."c14" AS c16, $3::BIGINT AS c17, t6."c14" AS c18, $3::BIGINT AS c19
    FROM (SELECT t4."c11" AS c13, t5."c1" AS c14
      FROM (SELECT coalesce(min(t3."c5"), $3::BIGINT) AS c10, $4::BIGINT AS c11, count(*) AS c12
        FROM q1 AS t3
        HAVING (count(*) > $3::BIGINT)) AS t4
      CROSS JOIN (SELECT unnest(list_transform([{'1': t4."c11", '2': t4."c10"}], lambda x1000005: list_transform(ch_range(0, trunc(greatest(ceil((ch_divide((struct_extract_at(x1000005, 1) - struct_extract_at(x1000005, 2)), $1::BIGINT))::DOUBLE), ($3::BIGINT)::DOUBLE))::BIGINT, 1), lambda x1: (struct_extract_at(x1000005, 2) + (x1 * $1::BIGINT))))[1]) AS c1) AS t5) AS t6
    WHERE ((t6."c14" < t6."c13") AND (NOT (t6."c14" IN (SELECT t7."c5" AS c15
      FROM q1 AS t7)))))) AS t8) AS t9
ORDER BY t9."c22"
LIMIT $5::BIGINT
-- [["1","2"],["2","2"]]
