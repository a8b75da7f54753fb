-- members of a cohort by its id
select distinct_id from events where person_id in cohort 5 order by timestamp
SELECT t1."distinct_id" AS c4
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
WHERE (CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END IN (SELECT t4."c1" AS c3
  FROM (SELECT t3."person_id" AS c1, t3."cohort_id" AS c2
    FROM cohort_people_of($1::BIGINT) AS t3
    WHERE (t3."cohort_id" IN ($2::BIGINT, $3::BIGINT))) AS t4
  WHERE (t4."c2" = $2::BIGINT)))
ORDER BY t1."timestamp"
LIMIT $4::BIGINT
-- [["d1"],["d3"],["d1"]]

-- not members, by the name of an uploaded cohort
select properties.email from persons where id not in cohort 'uploaded'
SELECT json_extract_string(t1."properties", $1::VARCHAR) AS c4
FROM persons_of($2::BIGINT) AS t1
WHERE (NOT (t1."id" IN (SELECT t3."c1" AS c3
  FROM (SELECT t2."person_id" AS c1, t2."cohort_id" AS c2
    FROM cohort_people_of($2::BIGINT) AS t2
    WHERE (t2."cohort_id" IN ($3::BIGINT, $4::BIGINT))) AS t3
  WHERE (t3."c2" = $3::BIGINT))))
LIMIT $5::BIGINT
-- [["ann@x.org"]]

-- a cohort inside an expression
select event, countIf(person_id in cohort 5) from events group by event order by event
SELECT t1."event" AS c4, count(*) FILTER (WHERE (CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END IN (SELECT t4."c1" AS c3
  FROM (SELECT t3."person_id" AS c1, t3."cohort_id" AS c2
    FROM cohort_people_of($1::BIGINT) AS t3
    WHERE (t3."cohort_id" IN ($2::BIGINT, $3::BIGINT))) AS t4
  WHERE (t4."c2" = $2::BIGINT)))) AS c5
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
GROUP BY t1."event"
ORDER BY 1
LIMIT $4::BIGINT
-- [["$pageview","1"],["purchase","2"]]

-- rows of cohorts are those of the known kind
select cohort_id, person.properties.email from cohort_people union all select cohort_id, person.properties.email from static_cohort_people
(SELECT t2."c1" AS c3, json_extract_string(t3."properties", $1::VARCHAR) AS c4
  FROM (SELECT t1."cohort_id" AS c1, t1."person_id" AS c2
    FROM cohort_people_of($2::BIGINT) AS t1
    WHERE (t1."cohort_id" IN ($5::BIGINT, $6::BIGINT))) AS t2
  LEFT JOIN persons_of($2::BIGINT) AS t3 ON (t3."id" = t2."c2"))
UNION ALL (SELECT t5."c5" AS c7, json_extract_string(t6."properties", $1::VARCHAR) AS c8
  FROM (SELECT t4."cohort_id" AS c5, t4."person_id" AS c6
    FROM cohort_people_of($2::BIGINT) AS t4
    WHERE (t4."cohort_id" IN ($3::BIGINT, $4::BIGINT))) AS t5
  LEFT JOIN persons_of($2::BIGINT) AS t6 ON (t6."id" = t5."c6"))
LIMIT $7::BIGINT
-- [["5","ann@x.org"],["6","bob@x.org"]]

-- WITH cannot stand between a cohort and its members
with cohort_people as (select 1 as cohort_id, 2 as person_id) select count() from events where person_id in cohort 5
SELECT count(*) AS c4
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
WHERE (CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END IN (SELECT t4."c1" AS c3
  FROM (SELECT t3."person_id" AS c1, t3."cohort_id" AS c2
    FROM cohort_people_of($1::BIGINT) AS t3
    WHERE (t3."cohort_id" IN ($2::BIGINT, $3::BIGINT))) AS t4
  WHERE (t4."c2" = $2::BIGINT)))
LIMIT $4::BIGINT
-- [["3"]]

-- distinct ids that changed their person
select distinct_id, person_id, person.properties.email from person_distinct_id_overrides
SELECT t2."c1" AS c3, t2."c2" AS c4, json_extract_string(t3."properties", $1::VARCHAR) AS c5
FROM (SELECT t1."distinct_id" AS c1, t1."person_id" AS c2
  FROM person_distinct_ids_of($2::BIGINT) AS t1
  WHERE (t1."version" > $3::BIGINT)) AS t2
LEFT JOIN persons_of($2::BIGINT) AS t3 ON (t3."id" = t2."c2")
LIMIT $4::BIGINT
-- [["d3","00000000-0000-4000-8000-000000000001","ann@x.org"]]
