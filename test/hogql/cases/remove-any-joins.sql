-- ANY JOIN takes one row per key
select p.properties.email, e.event = '$pageview' or e.event = 'purchase' from persons p any left join events e on e.distinct_id = p.properties.email order by 1
SELECT json_extract_string(t1."properties", $1::VARCHAR) AS c20, (((t3."c2" IS NOT DISTINCT FROM $2::VARCHAR) OR (t3."c2" IS NOT DISTINCT FROM $3::VARCHAR)))::UTINYINT AS c21
FROM persons_of($4::BIGINT) AS t1
LEFT JOIN (SELECT t2."uuid" AS c1, t2."event" AS c2, t2."properties" AS c3, t2."timestamp" AS c4, t2."distinct_id" AS c5, t2."elements_chain" AS c6, t2."created_at" AS c7, coalesce(json_extract_string(t2."properties", $5::VARCHAR), '') AS c8, coalesce(json_extract_string(t2."properties", $6::VARCHAR), '') AS c9, coalesce(t2."group_0", '') AS c10, coalesce(t2."group_1", '') AS c11, coalesce(t2."group_2", '') AS c12, coalesce(t2."group_3", '') AS c13, coalesce(t2."group_4", '') AS c14, regexp_extract(t2."elements_chain", $7::VARCHAR, 1, 's') AS c15, ch_array_distinct(list_filter(list_transform(regexp_extract_all(t2."elements_chain", $8::VARCHAR, 1, 's'), lambda e: coalesce(e, '')), lambda e: e IS NOT NULL)) AS c16, ch_array_distinct(list_filter(list_transform(regexp_extract_all(t2."elements_chain", $9::VARCHAR, 1, 's'), lambda e: coalesce(e, '')), lambda e: e IS NOT NULL)) AS c17, ch_array_distinct(list_filter(list_transform(regexp_extract_all(t2."elements_chain", $10::VARCHAR, 1, 's'), lambda e: coalesce(e, '')), lambda e: e IS NOT NULL)) AS c18, t2."person_mode" AS c19
  FROM events_of($4::BIGINT) AS t2
  QUALIFY (row_number() OVER (PARTITION BY t2."distinct_id") > $11::BIGINT AND row_number() OVER (PARTITION BY t2."distinct_id") <= $11::BIGINT + $12::BIGINT)) AS t3 ON (t3."c5" = json_extract_string(t1."properties", $1::VARCHAR))
ORDER BY 1
LIMIT $13::BIGINT
-- [["ann@x.org",0],["bob@x.org",0]]

-- RIGHT ANY JOIN takes one row per key of the left side
select p.n, e.event from (select event, distinct_id from events) as e right any join (select 1 as n, 'd1' as d union all select 2, 'd1') as p on e.distinct_id = p.d order by p.n
SELECT t4."c5" AS c9, t3."c3" AS c10
FROM (SELECT t2."c1" AS c3, t2."c2" AS c4
  FROM (SELECT t1."event" AS c1, t1."distinct_id" AS c2
    FROM events_lean_of($1::BIGINT) AS t1) AS t2
  QUALIFY (row_number() OVER (PARTITION BY t2."c2") > $2::BIGINT AND row_number() OVER (PARTITION BY t2."c2") <= $2::BIGINT + $3::BIGINT)) AS t3
RIGHT JOIN ((SELECT $3::BIGINT AS c5, $5::VARCHAR AS c6) UNION ALL (SELECT $4::BIGINT AS c7, $5::VARCHAR AS c8)) AS t4 ON (t3."c4" = t4."c6")
ORDER BY 1
LIMIT $6::BIGINT
-- [["1","$pageview"],["2","$pageview"]]

-- INNER ANY JOIN takes one row per key of each side
select count() from (select 'd1' as d union all select 'd1') as a any join (select 'd1' as d union all select 'd1') as b on a.d = b.d
SELECT count(*) AS c7
FROM (SELECT t1."c1" AS c3
  FROM ((SELECT $1::VARCHAR AS c1) UNION ALL (SELECT $1::VARCHAR AS c2)) AS t1
  QUALIFY (row_number() OVER (PARTITION BY t1."c1") > $2::BIGINT AND row_number() OVER (PARTITION BY t1."c1") <= $2::BIGINT + $3::BIGINT)) AS t2
INNER JOIN (SELECT t3."c4" AS c6
  FROM ((SELECT $1::VARCHAR AS c4) UNION ALL (SELECT $1::VARCHAR AS c5)) AS t3
  QUALIFY (row_number() OVER (PARTITION BY t3."c4") > $2::BIGINT AND row_number() OVER (PARTITION BY t3."c4") <= $2::BIGINT + $3::BIGINT)) AS t4 ON (t2."c3" = t4."c6")
LIMIT $4::BIGINT
-- [["1"]]
