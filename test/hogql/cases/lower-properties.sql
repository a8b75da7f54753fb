-- a property is the text of its JSON value
select properties.$browser, properties.tags, properties.o from events order by timestamp limit 1
SELECT json_extract_string(t1."properties", $1::VARCHAR) AS c1, json_extract_string(t1."properties", $2::VARCHAR) AS c2, json_extract_string(t1."properties", $3::VARCHAR) AS c3
FROM events_of($4::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $5::BIGINT
-- [["Chrome","[\"a\",\"b\"]","{\"k\":{\"n\":5}}"]]

-- nested keys
select properties.o.k.n, properties['o']['k'], properties.tags.1 from events order by timestamp limit 1
SELECT json_extract_string(t1."properties", $1::VARCHAR) AS c1, json_extract_string(t1."properties", $2::VARCHAR) AS c2, json_extract_string(t1."properties", $3::VARCHAR) AS c3
FROM events_of($4::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $5::BIGINT
-- [["5","{\"n\":5}","a"]]

-- keys with quotes and slashes
select properties['a"b'], properties['a/b'] from events order by timestamp desc limit 1
SELECT json_extract_string(t1."properties", $1::VARCHAR) AS c1, json_extract_string(t1."properties", $2::VARCHAR) AS c2
FROM events_of($3::BIGINT) AS t1
ORDER BY t1."timestamp" DESC
LIMIT $4::BIGINT
-- [["quote","slash"]]

-- a numeric property is a float, NULL for what is no number
select properties.price from events order by timestamp
SELECT (try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) AS c1
FROM events_of($2::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [[10],[7.5],[20],[null],[null]]

-- a boolean property is true, false or NULL
select properties.paid from events order by timestamp
SELECT CASE json_extract_string(t1."properties", $1::VARCHAR) WHEN 'true' THEN true WHEN 'false' THEN false END AS c1
FROM events_of($2::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [[true],[null],[false],[null],[null]]

-- a time property
select properties.at from events where properties.at is not null
SELECT coalesce(ch_zoned_instant(json_extract_string(t1."properties", $1::VARCHAR)), ch_naive_instant(json_extract_string(t1."properties", $1::VARCHAR))) AS c1
FROM events_of($2::BIGINT) AS t1
WHERE (coalesce(ch_zoned_instant(json_extract_string(t1."properties", $1::VARCHAR)), ch_naive_instant(json_extract_string(t1."properties", $1::VARCHAR))) IS NOT NULL)
LIMIT $3::BIGINT
-- [["2024-05-01 00:00:00"]]

-- a key known only to the row
select properties[concat('$', 'browser')] from events order by timestamp limit 1
SELECT json_extract_string(t1."properties", ch_pointer_part((concat($1::VARCHAR, $2::VARCHAR))::VARCHAR)) AS c1
FROM events_of($3::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $4::BIGINT
-- [["Chrome"]]

-- person properties come from today's person
select distinct_id, person.properties.email, person.properties.age from events order by timestamp
SELECT t1."distinct_id" AS c1, json_extract_string(t2."properties", $1::VARCHAR) AS c2, (try_cast(json_extract_string(t2."properties", $2::VARCHAR) AS DOUBLE) + 0.0) AS c3
FROM events_lean_of($3::BIGINT) AS t1
LEFT JOIN person_overrides_of($3::BIGINT) AS t3 ON (t3."old_person_id" = t1."person_id")
LEFT JOIN persons_of($3::BIGINT) AS t2 ON (t2."id" = CASE WHEN (t3."person_id" IS NULL) THEN t1."person_id" ELSE t3."person_id" END)
ORDER BY t1."timestamp"
LIMIT $4::BIGINT
-- [["d1","ann@x.org",30],["d2","bob@x.org",41],["d3","ann@x.org",30],["d1","ann@x.org",30],["d4",null,null]]

-- group properties
select group_0.properties.name, $group_0 from events order by timestamp desc limit 2
SELECT json_extract_string(t2."properties", $1::VARCHAR) AS c1, coalesce(t1."group_0", '') AS c2
FROM events_lean_of($2::BIGINT) AS t1
LEFT JOIN groups_of($2::BIGINT) AS t2 ON ((t2."index" = $3::BIGINT) AND (t2."key" = t1."group_0"))
ORDER BY t1."timestamp" DESC
LIMIT $4::BIGINT
-- [["Acme","acme"],[null,""]]

-- the key of an event's group is a property that is a column
select event from events where properties.$group_0 = 'acme' and properties['$group_1'] is null
SELECT t1."event" AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."group_0" = $2::VARCHAR) AND (t1."group_1" IS NULL))
LIMIT $3::BIGINT
-- [["$pageview"]]

-- properties of a sub-select's column
select p.$browser from (select properties as p, timestamp from events) order by timestamp limit 2
SELECT json_extract_string(t2."c1", $1::VARCHAR) AS c3
FROM (SELECT t1."properties" AS c1, t1."timestamp" AS c2
  FROM events_of($2::BIGINT) AS t1) AS t2
ORDER BY t2."c2"
LIMIT $3::BIGINT
-- [["Chrome"],["Firefox"]]

-- the whole of properties is its text
select properties from persons order by created_at limit 1
SELECT t1."properties" AS c1
FROM persons_of($1::BIGINT) AS t1
ORDER BY t1."created_at"
LIMIT $2::BIGINT
-- [["{\"email\":\"ann@x.org\",\"age\":30,\"plan\":\"pro\"}"]]
