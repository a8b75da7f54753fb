-- one uuid
select event from events where uuid = '00000001-0000-4000-9000-000000000001'
SELECT t1."event" AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."uuid" = $2::UUID) AND (t1."p_uuid" IS NULL OR t1."p_uuid" = ('0x' || right(replace($2::UUID::VARCHAR, '-', ''), 16))::UBIGINT))
LIMIT $3::BIGINT
-- [["$pageview"]]

-- several uuids, and another condition
select event from events where uuid in ('00000001-0000-4000-9000-000000000001', '00000001-0000-4000-9000-000000000002') and event != 'purchase'
SELECT t1."event" AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (((t1."uuid" IN ($2::UUID, $3::UUID)) AND (t1."event" <> $4::VARCHAR)) AND (t1."p_uuid" IS NULL OR t1."p_uuid" = ('0x' || right(replace($2::UUID::VARCHAR, '-', ''), 16))::UBIGINT OR t1."p_uuid" = ('0x' || right(replace($3::UUID::VARCHAR, '-', ''), 16))::UBIGINT))
LIMIT $5::BIGINT
-- [["$pageview"],["$pageview"]]

-- not where the uuid is one of two alternatives
select count() from events where uuid = '00000001-0000-4000-9000-000000000001' or event = 'purchase'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."uuid" = $2::UUID) OR (t1."event" = $3::VARCHAR))
LIMIT $4::BIGINT
-- [["3"]]
