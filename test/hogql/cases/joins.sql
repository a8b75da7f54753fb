-- nothing is joined when nothing is asked of persons
select event, distinct_id from events order by timestamp limit 1
SELECT t1."event" AS c1, t1."distinct_id" AS c2
FROM events_lean_of($1::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $2::BIGINT
-- [["$pageview","d1"]]

-- person_id joins the overrides alone
select person_id, count() from events group by person_id order by person_id
SELECT CASE WHEN (t2."person_id" IS NULL) THEN t4000001."c1" ELSE t2."person_id" END AS c1, (sum(t4000001."c2"))::BIGINT AS c2
FROM (SELECT t1."person_id" AS c1, count(*) AS c2
  FROM events_lean_of($1::BIGINT) AS t1
  GROUP BY t1."person_id") AS t4000001
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t4000001."c1")
GROUP BY CASE WHEN (t2."person_id" IS NULL) THEN t4000001."c1" ELSE t2."person_id" END
ORDER BY 1
LIMIT $2::BIGINT
-- [["00000000-0000-4000-8000-000000000001","3"],["00000000-0000-4000-8000-000000000002","1"],["00000000-0000-4000-8000-000000000004","1"]]

-- person.id needs no persons
select uniq(person.id) from events
SELECT count(DISTINCT CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END) AS c1
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
LIMIT $2::BIGINT
-- [["3"]]

-- two uses of a person are one join
select person.properties.email from events where person.properties.plan = 'pro' order by timestamp
SELECT json_extract_string(t2."properties", $1::VARCHAR) AS c1
FROM events_lean_of($2::BIGINT) AS t1
LEFT JOIN person_overrides_of($2::BIGINT) AS t3 ON (t3."old_person_id" = t1."person_id")
LEFT JOIN persons_of($2::BIGINT) AS t2 ON (t2."id" = CASE WHEN (t3."person_id" IS NULL) THEN t1."person_id" ELSE t3."person_id" END)
WHERE (json_extract_string(t2."properties", $3::VARCHAR) = $4::VARCHAR)
ORDER BY t1."timestamp"
LIMIT $5::BIGINT
-- [["ann@x.org"],["ann@x.org"],["ann@x.org"]]

-- each alias has joins of its own
select a.person.properties.email, b.person.properties.email from events a join events b on a.distinct_id = b.distinct_id where a.event = 'purchase' and b.event = '$pageview' order by 1
SELECT json_extract_string(t3."properties", $1::VARCHAR) AS c1, json_extract_string(t5."properties", $1::VARCHAR) AS c2
FROM events_lean_of($2::BIGINT) AS t1
LEFT JOIN person_overrides_of($2::BIGINT) AS t4 ON (t4."old_person_id" = t1."person_id")
LEFT JOIN persons_of($2::BIGINT) AS t3 ON (t3."id" = CASE WHEN (t4."person_id" IS NULL) THEN t1."person_id" ELSE t4."person_id" END)
INNER JOIN (events_lean_of($2::BIGINT) AS t2 LEFT JOIN person_overrides_of($2::BIGINT) AS t6 ON (t6."old_person_id" = t2."person_id") LEFT JOIN persons_of($2::BIGINT) AS t5 ON (t5."id" = CASE WHEN (t6."person_id" IS NULL) THEN t2."person_id" ELSE t6."person_id" END)) ON (t1."distinct_id" = t2."distinct_id")
WHERE ((t1."event" = $3::VARCHAR) AND (t2."event" = $4::VARCHAR))
ORDER BY 1
LIMIT $5::BIGINT
-- [["ann@x.org","ann@x.org"]]

-- pdi and its person
select pdi.distinct_id, pdi.person.properties.email from events order by timestamp desc limit 2
SELECT t2."distinct_id" AS c1, json_extract_string(t3."properties", $1::VARCHAR) AS c2
FROM events_lean_of($2::BIGINT) AS t1
LEFT JOIN person_distinct_ids_of($2::BIGINT) AS t2 ON (t2."distinct_id" = t1."distinct_id")
LEFT JOIN persons_of($2::BIGINT) AS t3 ON (t3."id" = t2."person_id")
ORDER BY t1."timestamp" DESC
LIMIT $3::BIGINT
-- [[null,null],["d1","ann@x.org"]]

-- persons and their distinct ids
select properties.email, pdi.distinct_id from persons order by 1, 2
SELECT json_extract_string(t1."properties", $1::VARCHAR) AS c1, t2."distinct_id" AS c2
FROM persons_of($2::BIGINT) AS t1
LEFT JOIN person_distinct_ids_of($2::BIGINT) AS t2 ON (t2."person_id" = t1."id")
ORDER BY 1, 2
LIMIT $3::BIGINT
-- [["ann@x.org","d1"],["ann@x.org","d3"],["bob@x.org","d2"]]

-- a plain join with persons
select p.properties.email, count() from events e left join persons p on e.person_id = p.id group by 1 order by 2 desc, 1
SELECT json_extract_string(t2."properties", $1::VARCHAR) AS c1, count(*) AS c2
FROM events_lean_of($2::BIGINT) AS t1
LEFT JOIN person_overrides_of($2::BIGINT) AS t3 ON (t3."old_person_id" = t1."person_id")
LEFT JOIN persons_of($2::BIGINT) AS t2 ON (CASE WHEN (t3."person_id" IS NULL) THEN t1."person_id" ELSE t3."person_id" END = t2."id")
GROUP BY json_extract_string(t2."properties", $1::VARCHAR)
ORDER BY 2 DESC, 1
LIMIT $3::BIGINT
-- [["ann@x.org","3"],["bob@x.org","1"],[null,"1"]]

-- lazy joins stand on the right side of a join as one
select p.properties.email, e.person.properties.plan from persons p left join events e on p.id = e.person_id and e.event = 'purchase' order by 1, 2
SELECT json_extract_string(t1."properties", $1::VARCHAR) AS c1, json_extract_string(t4."properties", $2::VARCHAR) AS c2
FROM persons_of($3::BIGINT) AS t1
LEFT JOIN (events_lean_of($3::BIGINT) AS t2 LEFT JOIN person_overrides_of($3::BIGINT) AS t3 ON (t3."old_person_id" = t2."person_id") LEFT JOIN persons_of($3::BIGINT) AS t4 ON (t4."id" = CASE WHEN (t3."person_id" IS NULL) THEN t2."person_id" ELSE t3."person_id" END)) ON ((t1."id" = CASE WHEN (t3."person_id" IS NULL) THEN t2."person_id" ELSE t3."person_id" END) AND (t2."event" = $4::VARCHAR))
ORDER BY 1, 2
LIMIT $5::BIGINT
-- [["ann@x.org","pro"],["ann@x.org","pro"],["bob@x.org",null]]

-- USING makes one column of two
select distinct_id, count() from events join person_distinct_ids using (distinct_id) group by distinct_id order by distinct_id
SELECT t1."distinct_id" AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
INNER JOIN person_distinct_ids_of($1::BIGINT) AS t2 ON (t1."distinct_id" = t2."distinct_id")
GROUP BY t1."distinct_id"
ORDER BY 1
LIMIT $2::BIGINT
-- [["d1","2"],["d2","1"],["d3","1"]]

-- the event's own person at its time
select uniq(poe.id) from events
SELECT count(DISTINCT t1."person_id") AS c1
FROM events_lean_of($1::BIGINT) AS t1
LIMIT $2::BIGINT
-- [["4"]]

-- team_id is the project
select distinct team_id from events
SELECT DISTINCT $1::BIGINT AS c1
FROM events_lean_of($2::BIGINT) AS t1
LIMIT $3::BIGINT
-- [["1"]]

-- a CTE may be called events
with events as (select event as name from events where event = 'purchase') select count() from events
WITH q1 AS (SELECT t1."event" AS c1
  FROM events_lean_of($1::BIGINT) AS t1
  WHERE (t1."event" = $2::VARCHAR)) SELECT count(*) AS c2
FROM q1 AS t2
LIMIT $3::BIGINT
-- [["2"]]

-- an inner select reads the outer row
select distinct_id from person_distinct_ids d where exists (select 1 from events e where e.distinct_id = d.distinct_id and e.event = 'purchase') order by 1
SELECT t1."distinct_id" AS c2
FROM person_distinct_ids_of($1::BIGINT) AS t1
WHERE EXISTS (SELECT $2::BIGINT AS c1
  FROM events_lean_of($1::BIGINT) AS t2
  WHERE ((t2."distinct_id" = t1."distinct_id") AND (t2."event" = $3::VARCHAR)))
ORDER BY 1
LIMIT $4::BIGINT
-- [["d1"],["d3"]]
