-- aggregates read integers where they are stored
select min(properties.price), max(properties.price), sum(properties.price) from events
SELECT (min(t1."p_w_7072696365"))::DOUBLE AS c1, (max(ch_real(t1."p_w_7072696365")))::DOUBLE AS c2, (sum(t1."p_w_7072696365"))::DOUBLE AS c3
FROM events_lean_of($1::BIGINT) AS t1
LIMIT $2::BIGINT
-- [[7.5,20,37.5]]

-- also through a conversion that changes nothing
select max(toFloat(properties.price)), max(toFloat(properties.price) + 1) from events
SELECT (max(ch_real(t1."p_w_7072696365")))::DOUBLE AS c1, coalesce(max(ch_real((t1."p_n_7072696365" + $1::BIGINT))), max((t1."p_n_7072696365" + $1::BIGINT))) AS c2
FROM events_lean_of($2::BIGINT) AS t1
LIMIT $3::BIGINT
-- [[20,21]]

-- comparisons within an aggregate too
select countIf(properties.price > 8), countIf(not (properties.price <= 7.5 and event = '$pageview')) from events
SELECT count(*) FILTER (WHERE (ch_real(t1."p_w_7072696365") > $1::BIGINT)) AS c1, count(*) FILTER (WHERE (NOT (coalesce((t1."p_w_7072696365" <= $2::DOUBLE), false) AND (t1."event" = $3::VARCHAR)))) AS c2
FROM events_lean_of($4::BIGINT) AS t1
LIMIT $5::BIGINT
-- [["2","4"]]

-- not over a window, whose rows may be groups
select properties.price as p, sum(p) over (order by p) from events where p > 0 group by p order by p
SELECT t1."p_n_7072696365" AS c1, sum(t1."p_n_7072696365") OVER (ORDER BY t1."p_n_7072696365") AS c2
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."p_w_7072696365" > $2::BIGINT) AND (typeof(t1."p_w_7072696365") = 'BIGINT' OR (t1."p_w_7072696365" <= $3::DOUBLE)))
GROUP BY t1."p_n_7072696365"
ORDER BY 1
LIMIT $4::BIGINT
-- [[7.5,7.5],[10,17.5],[20,37.5]]

-- what computes with a number reads it as a DOUBLE
select avg(properties.price), max(properties.price / 2), quantile(0.5)(properties.price) from events
SELECT avg(t1."p_n_7072696365") AS c1, coalesce(max(ch_real(ch_divide(t1."p_n_7072696365", $1::BIGINT))), max(ch_divide(t1."p_n_7072696365", $1::BIGINT))) AS c2, quantile_cont(ch_real(t1."p_n_7072696365"), $2::DOUBLE) AS c3
FROM events_lean_of($3::BIGINT) AS t1
LIMIT $4::BIGINT
-- [[12.5,10,10]]

-- a key that is compared is spelled as in GROUP BY
select properties.price as p, p > 8, countIf(p > 8) from events group by p having p > 7 order by p
SELECT t1."p_n_7072696365" AS c1, ((coalesce((t1."p_n_7072696365" > $1::BIGINT), false) AND coalesce((t1."p_n_7072696365" <= $2::DOUBLE), false)))::UTINYINT AS c2, count(*) FILTER (WHERE (ch_real(t1."p_w_7072696365") > $1::BIGINT)) AS c3
FROM events_lean_of($3::BIGINT) AS t1
GROUP BY t1."p_n_7072696365"
HAVING ((t1."p_n_7072696365" > $4::BIGINT) AND (t1."p_n_7072696365" <= $2::DOUBLE))
ORDER BY 1
LIMIT $5::BIGINT
-- [[7.5,0,"0"],[10,1,"1"],[20,1,"1"]]

-- filters are pushed down to integers
select count() from events where properties.price > 8 and not properties.price = 10.0 and properties.price / 2 > 1
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (((t1."p_w_7072696365" > $2::BIGINT) AND (typeof(t1."p_w_7072696365") = 'BIGINT' OR (t1."p_w_7072696365" <= $3::DOUBLE))) AND (NOT (t1."p_w_7072696365" IS NOT DISTINCT FROM $4::BIGINT)) AND (ch_real(ch_divide(t1."p_n_7072696365", $5::BIGINT)) > $6::BIGINT))
LIMIT $7::BIGINT
-- [["1"]]
