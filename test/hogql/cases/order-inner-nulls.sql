-- items that are NULL come last going down
select (nullIf(number, 1), number) as pair from numbers(3) order by pair desc
SELECT {'1': nullif(t1."c1", $1::BIGINT), '2': t1."c1"} AS c1
FROM range($2::BIGINT, $3::BIGINT, $1::BIGINT) AS t1(c1)
ORDER BY {'1': (nullif(t1."c1", $1::BIGINT) IS NOT NULL), '2': nullif(t1."c1", $1::BIGINT), '3': t1."c1"} DESC
LIMIT $4::BIGINT
-- [[{"1":"2","2":"2"}],[{"1":"0","2":"0"}],[{"1":null,"2":"1"}]]

-- going up the engine does so itself
select (nullIf(number, 1), number) as pair from numbers(3) order by pair
SELECT {'1': nullif(t1."c1", $1::BIGINT), '2': t1."c1"} AS c1
FROM range($2::BIGINT, $3::BIGINT, $1::BIGINT) AS t1(c1)
ORDER BY 1
LIMIT $4::BIGINT
-- [[{"1":"0","2":"0"}],[{"1":"2","2":"2"}],[{"1":null,"2":"1"}]]

-- arrays too
select [nullIf(number, 1), 5] as pair from numbers(3) order by pair desc
SELECT [nullif(t1."c1", $1::BIGINT), $2::BIGINT] AS c1
FROM range($3::BIGINT, $4::BIGINT, $1::BIGINT) AS t1(c1)
ORDER BY list_transform([nullif(t1."c1", $1::BIGINT), $2::BIGINT], lambda e: {'1': e IS NOT NULL, '2': e}) DESC
LIMIT $5::BIGINT
-- [[["2","5"]],[["0","5"]],[[null,"5"]]]

-- the greatest and the least are not NULL
select max((nullIf(number, 2), number)) as most, argMin(number, (nullIf(number, 0), number)) as least from numbers(3)
SELECT coalesce(arg_max({'1': nullif(t1."c1", $1::BIGINT), '2': t1."c1"}, {'1': (nullif(t1."c1", $1::BIGINT) IS NOT NULL), '2': nullif(t1."c1", $1::BIGINT), '3': t1."c1"}), {'1': $2::BIGINT, '2': $2::BIGINT}) AS c1, coalesce(arg_min(t1."c1", {'1': (nullif(t1."c1", $2::BIGINT) IS NULL), '2': nullif(t1."c1", $2::BIGINT), '3': t1."c1"}), $2::BIGINT) AS c2
FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
LIMIT $5::BIGINT
-- [[{"1":"1","2":"1"},"1"]]

-- windows too
select number, rank() over (order by (nullIf(number, 1), number) desc) as place from numbers(3) order by number
SELECT t1."c1" AS c1, rank() OVER (ORDER BY {'1': (nullif(t1."c1", $1::BIGINT) IS NOT NULL), '2': nullif(t1."c1", $1::BIGINT), '3': t1."c1"} DESC) AS c2
FROM range($2::BIGINT, $3::BIGINT, $1::BIGINT) AS t1(c1)
ORDER BY 1
LIMIT $4::BIGINT
-- [["0","2"],["1","3"],["2","1"]]
