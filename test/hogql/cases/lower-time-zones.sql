-- a clock of a column is computed once per row, groups by the local time, and the instant once per group
select toStartOfDay(timestamp) as day, count() from events where timestamp >= '2024-06-01' and timestamp < '2024-07-01' group by day order by day
SELECT list_transform([date_trunc($1::VARCHAR, t1."l1")], lambda x0: CASE WHEN x0 >= $2::TIMESTAMP THEN CASE WHEN x0 >= $3::TIMESTAMP THEN timezone('UTC', timezone($4::VARCHAR, x0)) WHEN x0 >= $5::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $7::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $9::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $10::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) ELSE (x0 - to_seconds($6::BIGINT)) END WHEN x0 >= $11::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $12::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $13::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $14::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $15::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $16::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $17::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $18::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $19::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $20::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $21::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $22::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $23::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $24::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $25::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $26::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) WHEN x0 >= $27::TIMESTAMP THEN (x0 - to_seconds($8::BIGINT)) WHEN x0 >= $28::TIMESTAMP THEN (x0 - to_seconds($6::BIGINT)) ELSE timezone('UTC', timezone($4::VARCHAR, x0)) END)[1] AS c1, count(*) AS c2
FROM (SELECT t1.*, (t1."timestamp" + to_seconds($8::BIGINT)) AS l1
  FROM events_lean_of($29::BIGINT) AS t1) AS t1
WHERE ((t1."timestamp" >= $30::TIMESTAMP) AND (t1."timestamp" < $31::TIMESTAMP))
GROUP BY date_trunc($1::VARCHAR, t1."l1")
ORDER BY 1
LIMIT $32::BIGINT
-- [["2024-05-31 22:00:00","1"],["2024-06-01 22:00:00","2"],["2024-06-09 22:00:00","1"],["2024-06-11 22:00:00","1"]]

-- what is known of the column leaves out the changes of clocks that cannot matter
select toHour(timestamp) as hour, count() from events where timestamp >= '2024-03-20' and timestamp < '2024-07-01' group by hour order by hour
SELECT hour((t1."l1")::TIMESTAMP) AS c1, count(*) AS c2
FROM (SELECT t1.*, CASE WHEN t1."timestamp" >= $2::TIMESTAMP THEN (t1."timestamp" + to_seconds($3::BIGINT)) ELSE (t1."timestamp" + to_seconds($4::BIGINT)) END AS l1
  FROM events_lean_of($1::BIGINT) AS t1) AS t1
WHERE ((t1."timestamp" >= $5::TIMESTAMP) AND (t1."timestamp" < $6::TIMESTAMP))
GROUP BY hour((t1."l1")::TIMESTAMP)
ORDER BY 1
LIMIT $7::BIGINT
-- [["1","1"],["2","1"],["10","1"],["12","1"],["14","1"]]

-- constants need no clock at all
select toStartOfDay(now()), toDate(now()), now() - interval 1 month
SELECT $1::TIMESTAMP AS c1, $2::DATE AS c2, $3::TIMESTAMP AS c3
LIMIT $4::BIGINT
-- [["2024-06-14 22:00:00","2024-06-15","2024-05-15 12:00:00"]]

-- hours are cut in UTC where the zone's offsets are whole hours
select toStartOfHour(timestamp) as hour from events order by hour limit 1
SELECT date_trunc($1::VARCHAR, t1."timestamp") AS c1
FROM events_lean_of($2::BIGINT) AS t1
ORDER BY 1
LIMIT $3::BIGINT
-- [["2024-06-01 10:00:00"]]

-- two clocks of one column
select toDate(timestamp), toDate(toTimeZone(timestamp, 'UTC')) from events where timestamp >= '2024-06-01' and timestamp < '2024-07-01' order by timestamp limit 2
SELECT (t1."l1")::DATE AS c1, (t1."timestamp")::DATE AS c2
FROM (SELECT t1.*, (t1."timestamp" + to_seconds($2::BIGINT)) AS l1
  FROM events_lean_of($1::BIGINT) AS t1) AS t1
WHERE ((t1."timestamp" >= $3::TIMESTAMP) AND (t1."timestamp" < $4::TIMESTAMP))
ORDER BY t1."timestamp"
LIMIT $5::BIGINT
-- [["2024-06-01","2024-06-01"],["2024-06-02","2024-06-01"]]
