-- groups of stored persons are put together as the persons they are today
select person_id, count() as n from events group by person_id order by n desc, person_id limit 10
SELECT CASE WHEN (t2."person_id" IS NULL) THEN t4000001."c1" ELSE t2."person_id" END AS c1, (sum(t4000001."c2"))::BIGINT AS c2
FROM (SELECT t1."person_id" AS c1, count(*) AS c2
  FROM events_lean_of($1::BIGINT) AS t1
  GROUP BY t1."person_id") AS t4000001
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t4000001."c1")
GROUP BY CASE WHEN (t2."person_id" IS NULL) THEN t4000001."c1" ELSE t2."person_id" END
ORDER BY 2 DESC, 1
LIMIT $2::BIGINT
-- [["00000000-0000-4000-8000-000000000001","3"],["00000000-0000-4000-8000-000000000002","1"],["00000000-0000-4000-8000-000000000004","1"]]

-- filters are of events, conditions of the groups of persons
select person.id, min(timestamp), countIf(event = 'purchase') from events where event != 'x' group by person.id having count() > 1 order by person.id
SELECT CASE WHEN (t2."person_id" IS NULL) THEN t4000001."c1" ELSE t2."person_id" END AS c1, coalesce(min(t4000001."c2"), $1::TIMESTAMP) AS c2, (sum(t4000001."c3"))::BIGINT AS c3
FROM (SELECT t1."person_id" AS c1, min(t1."timestamp") AS c2, count(*) FILTER (WHERE (t1."event" = $2::VARCHAR)) AS c3, count(*) AS c4
  FROM events_lean_of($3::BIGINT) AS t1
  WHERE (t1."event" <> $4::VARCHAR)
  GROUP BY t1."person_id") AS t4000001
LEFT JOIN person_overrides_of($3::BIGINT) AS t2 ON (t2."old_person_id" = t4000001."c1")
GROUP BY CASE WHEN (t2."person_id" IS NULL) THEN t4000001."c1" ELSE t2."person_id" END
HAVING ((sum(t4000001."c4"))::BIGINT > $5::BIGINT)
ORDER BY 1
LIMIT $6::BIGINT
-- [["00000000-0000-4000-8000-000000000001","2024-06-01 10:00:00","2"]]

-- a key may compute with the person
select substring(toString(person_id), 36) as digit, max(event) from events group by digit order by digit
SELECT CASE WHEN $1::BIGINT = 0 THEN '' ELSE substring((CASE WHEN (t2."person_id" IS NULL) THEN t4000001."c1" ELSE t2."person_id" END)::VARCHAR, $1::BIGINT) END AS c1, coalesce(max(t4000001."c2"), $2::VARCHAR) AS c2
FROM (SELECT t1."person_id" AS c1, max(t1."event") AS c2
  FROM events_lean_of($3::BIGINT) AS t1
  GROUP BY t1."person_id") AS t4000001
LEFT JOIN person_overrides_of($3::BIGINT) AS t2 ON (t2."old_person_id" = t4000001."c1")
GROUP BY CASE WHEN $1::BIGINT = 0 THEN '' ELSE substring((CASE WHEN (t2."person_id" IS NULL) THEN t4000001."c1" ELSE t2."person_id" END)::VARCHAR, $1::BIGINT) END
ORDER BY 1
LIMIT $4::BIGINT
-- [["1","purchase"],["2","$pageview"],["4","$pageview"]]

-- not with a key of events
select person_id, event, count() from events group by person_id, event order by person_id, event
SELECT CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END AS c1, t1."event" AS c2, count(*) AS c3
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
GROUP BY CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END, t1."event"
ORDER BY 1, 2
LIMIT $2::BIGINT
-- [["00000000-0000-4000-8000-000000000001","$pageview","1"],["00000000-0000-4000-8000-000000000001","purchase","2"],["00000000-0000-4000-8000-000000000002","$pageview","1"],["00000000-0000-4000-8000-000000000004","$pageview","1"]]

-- not where a group is more than its parts
select person_id, uniq(event), count() from events group by person_id order by person_id
SELECT CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END AS c1, count(DISTINCT t1."event") AS c2, count(*) AS c3
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
GROUP BY CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END
ORDER BY 1
LIMIT $2::BIGINT
-- [["00000000-0000-4000-8000-000000000001","2","3"],["00000000-0000-4000-8000-000000000002","1","1"],["00000000-0000-4000-8000-000000000004","1","1"]]

-- not for some persons alone
select person_id, count() from events where person_id = '00000000-0000-4000-8000-000000000001' group by person_id
SELECT CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
WHERE (CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END = $2::UUID)
GROUP BY CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END
LIMIT $3::BIGINT
-- [["00000000-0000-4000-8000-000000000001","3"]]
