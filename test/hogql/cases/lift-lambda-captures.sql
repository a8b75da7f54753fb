-- a lambda inside an array that is opened is handed the column it names
select day, count() from (select arrayJoin(arrayMap(i -> toDate(timestamp) + i, range(0, 3))) as day from events) group by day order by day limit 3
SELECT t3."c1" AS c2, count(*) AS c3
FROM (SELECT t2."c1" AS c1
  FROM events_lean_of($1::BIGINT) AS t1
  CROSS JOIN (SELECT unnest(list_transform([t1."timestamp"], lambda x1000002: list_transform(ch_range($2::BIGINT, $3::BIGINT, $4::BIGINT), lambda x1: ((x1000002)::DATE + (x1)::INTEGER)))[1]) AS c1) AS t2) AS t3
GROUP BY t3."c1"
ORDER BY 1
LIMIT $3::BIGINT
-- [["2024-06-01","2"],["2024-06-02","3"],["2024-06-03","3"]]

-- several columns come as one tuple
select distinct arrayJoin(arrayMap(x -> concat(x, event, distinct_id), ['a'])) as x from events order by x limit 2
SELECT DISTINCT t2."c1" AS c1
FROM events_lean_of($1::BIGINT) AS t1
CROSS JOIN (SELECT unnest(list_transform([{'1': t1."event", '2': t1."distinct_id"}], lambda x1000002: list_transform([$2::VARCHAR], lambda x1: concat(x1, struct_extract_at(x1000002, 1), struct_extract_at(x1000002, 2))))[1]) AS c1) AS t2
ORDER BY 1
LIMIT $3::BIGINT
-- [["a$pageviewd1"],["a$pageviewd2"]]

-- a macro may hold a lambda as well
select arrayJoin(arrayDifference([toHour(timestamp), toMonth(timestamp)])) as d, count() from events group by d order by d limit 2
SELECT t2."c1" AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
CROSS JOIN (SELECT unnest(list_transform([t1."timestamp"], lambda x1000002: ch_array_difference([hour((x1000002)::TIMESTAMP), month(x1000002)]))[1]) AS c1) AS t2
GROUP BY t2."c1"
ORDER BY 1
LIMIT $2::BIGINT
-- [["-17","1"],["-6","1"]]

-- ARRAY JOIN opens in the same way
select x, count() from events left array join arrayFilter(x -> x != event, ['a', 'b']) as x group by x order by x
SELECT t2."c1" AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN (SELECT unnest(list_transform([t1."event"], lambda x1000002: ch_array_resize(list_filter([$2::VARCHAR, $3::VARCHAR], lambda x1: (x1 <> x1000002)), greatest(len(list_filter([$2::VARCHAR, $3::VARCHAR], lambda x1: (x1 <> x1000002))), $4::BIGINT), $5::VARCHAR))[1]) AS c1) AS t2 ON TRUE
GROUP BY t2."c1"
ORDER BY 1
LIMIT $6::BIGINT
-- [["a","5"],["b","5"]]

-- without a column nothing is handed over
select arrayJoin(arrayMap(x -> x + 1, [1, 2])) as x from events order by x limit 2
SELECT t2."c1" AS c1
FROM events_lean_of($1::BIGINT) AS t1
CROSS JOIN (SELECT unnest(list_transform([$2::BIGINT, $3::BIGINT], lambda x1: (x1 + $2::BIGINT))) AS c1) AS t2
ORDER BY 1
LIMIT $3::BIGINT
-- [["2"],["2"]]

-- a lambda in a sub-select gets what stands around it
select number, (select count() from numbers(3) n where arrayExists(x -> x = n.number + e.number, [1, 2])) as c from numbers(2) e order by number
SELECT t1."c1" AS c2, (SELECT count(*) AS c1
  FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t2(c1)
  WHERE coalesce(list_bool_or(list_transform([{'1': t2."c1", '2': t1."c1"}], lambda x1000001: list_transform([$3::BIGINT, $4::BIGINT], lambda x1: (x1 = (struct_extract_at(x1000001, 1) + struct_extract_at(x1000001, 2)))))[1]), false)) AS c3
FROM range($1::BIGINT, $4::BIGINT, $3::BIGINT) AS t1(c1)
ORDER BY 1
LIMIT $5::BIGINT
-- [["0","2"],["1","2"]]
