-- What ClickHouse's functions do where DuckDB's do something else, one macro each. No macro hides an aggregate or a window.
-- Whatever could grow without bound asks `ch_size` first, because one scalar call cannot be interrupted.

-- sizes

create or replace macro ch_size(n, most) as case when n > most then error('The result would be too large') else n end;
create or replace macro ch_throw_if(condition, message) as case when condition::boolean then error('throwIf: ' || message) else 0 end;

-- arithmetic

create or replace macro ch_divide(a, b) as (a::double / b::double);
create or replace macro ch_real(x) as case when typeof(x) = 'BIGINT' then x when isnan((x)::double) then null else x end;
create or replace macro ch_intdiv(a, b) as trunc(a / nullif(b, 0))::bigint;
create or replace macro ch_intdivorzero(a, b) as case when b = 0 then 0 else trunc(a / b)::bigint end;
create or replace macro ch_ln(x) as case when x > 0 then ln(x) when x = 0 then '-inf'::double when x is null then null else 'nan'::double end;
create or replace macro ch_log2(x) as case when x > 0 then log2(x) when x = 0 then '-inf'::double when x is null then null else 'nan'::double end;
create or replace macro ch_log10(x) as case when x > 0 then log10(x) when x = 0 then '-inf'::double when x is null then null else 'nan'::double end;
create or replace macro ch_cbrt(x) as case when pow(round(cbrt(x)), 3) = x then round(cbrt(x)) else cbrt(x) end;
create or replace macro ch_sqrt(x) as case when x < 0 then 'nan'::double else sqrt(x) end;
create or replace macro ch_asin(x) as case when x between -1 and 1 then asin(x) when x is null then null else 'nan'::double end;
create or replace macro ch_acos(x) as case when x between -1 and 1 then acos(x) when x is null then null else 'nan'::double end;
-- The engine refuses the sine of an infinity and the gamma of zero.
create or replace macro ch_angle(x) as case when isinf(x) then 'nan'::double else x end;
create or replace macro ch_gamma(x) as case when x = 0 then 'inf'::double else gamma(x) end;
create or replace macro ch_lgamma(x) as case when x = 0 then 'inf'::double else lgamma(x) end;
-- 1 + x has few digits of a small x: the error of the logarithm is that of the subtraction, and cancels out.
create or replace macro ch_log1p(x) as list_transform([x], lambda v: case when 1 + v = 1 then v when isfinite(v) and v > -1 then ln(1 + v) * v / (1 + v - 1) else ch_ln(1 + v) end)[1];
-- Scaled by the longer side, so that no square overflows.
create or replace macro ch_hypot(a, b) as list_transform([greatest(abs(a), abs(b))], lambda m: case when m = 0 or not isfinite(m) then m else m * sqrt(pow(a / m, 2) + pow(b / m, 2)) end)[1];
create or replace macro ch_acosh(x) as case when x >= 1 then acosh(x) when x is null then null else 'nan'::double end;
create or replace macro ch_atanh(x) as case when x = 1 then 'inf'::double when x = -1 then '-inf'::double when x between -1 and 1 then atanh(x) when x is null then null else 'nan'::double end;
create or replace macro ch_factorial(n) as case when n < 2 then 1 when n > 20 then error('factorial takes at most 20') else factorial(n::integer)::bigint end;
create or replace macro ch_int_exp2(n) as case when n < 0 then 0 when n >= 64 then 18446744073709551615::hugeint else (1::hugeint << n::hugeint) end;
create or replace macro ch_int_exp10(n) as case when n < 0 then 0 when n > 19 then 18446744073709551615::hugeint else pow(10, n)::hugeint end;
create or replace macro ch_width_bucket(x, lo, hi, n) as case when x < lo then 0 when x >= hi then n + 1 else floor((x - lo)::double / (hi - lo) * n)::bigint + 1 end;
create or replace macro ch_round_to_exp2(x) as case when x < 1 then 0 else pow(2, floor(log2(x::double)))::bigint end;
create or replace macro ch_round_down(x, steps) as case when x::double < list_min(steps) then case when x::double < 1 and list_min(steps) = 1 and len(steps) = 15 then 0 else list_min(steps) end else list_max(list_filter(steps, lambda e: e <= x::double)) end;
create or replace macro ch_round_multiple(x, step) as (x::hugeint + sign(x) * (step::hugeint // 2)) // step::hugeint * step::hugeint;
create or replace macro ch_round_multiple_even(x, step) as ch_round_multiple(x, step) - case when abs(x::hugeint % step::hugeint) * 2 = step::hugeint and ch_round_multiple(x, step) // step::hugeint % 2 <> 0 then sign(x) * step::hugeint else 0 end;
create or replace macro ch_floor_multiple(x, step) as (case when x < 0 then x::hugeint - (step::hugeint - 1) else x::hugeint end) // step::hugeint * step::hugeint;
create or replace macro ch_trunc_multiple(x, step) as x::hugeint // step::hugeint * step::hugeint;
create or replace macro ch_round_age(x) as case when x is null then null when x < 1 then 0 when x < 18 then 17 when x < 25 then 18 when x < 35 then 25 when x < 45 then 35 when x < 55 then 45 else 55 end;
create or replace macro ch_shift_left(x, n) as ((x::uhugeint << n::uhugeint) & 9223372036854775807::uhugeint)::bigint;
create or replace macro ch_rotl(x, n, bits) as ((x::uhugeint << (n % bits)::uhugeint) | (x::uhugeint >> ((bits - n % bits) % bits)::uhugeint)) & ((1::uhugeint << bits::uhugeint) - 1::uhugeint);
create or replace macro ch_rotr(x, n, bits) as ((x::uhugeint >> (n % bits)::uhugeint) | (x::uhugeint << ((bits - n % bits) % bits)::uhugeint)) & ((1::uhugeint << bits::uhugeint) - 1::uhugeint);
create or replace macro ch_fit(x, bits, is_signed) as case when x is null then null when is_signed then case when x >= -(1::hugeint << (bits - 1)::hugeint) and x < (1::hugeint << (bits - 1)::hugeint) then x end when x >= 0 and x < (1::hugeint << bits::hugeint) then x end;

-- conversions

-- The shortest digits that tell a float apart, with an exponent from 1e21 and below 1e-6 only.
create or replace macro ch_plain_digits(t, e) as concat(case when t like '-%' then '-' else '' end, case when e < 0 then concat('0.', repeat('0', -e - 1)) else '' end, rpad(replace(regexp_extract(t, '[0-9.]+'), '.', ''), greatest(length(replace(regexp_extract(t, '[0-9.]+'), '.', '')), e + 1)::int, '0'));
create or replace macro ch_float_text(x) as case when isnan(x) then 'nan' when abs(x) >= 1e16 and abs(x) < 1e21 or abs(x) >= 1e-6 and abs(x) < 1e-4 then ch_plain_digits(x::varchar, regexp_extract(x::varchar, 'e(.+)$', 1)::int) else regexp_replace(regexp_replace(x::varchar, '\.0$', ''), 'e\+?(-?)0*([0-9])', 'e\1\2') end;
create or replace macro ch_quote(s) as ('''' || replace(replace(replace(replace(replace(replace(replace(replace(s, '\', '\\'), '''', '\'''), chr(8), '\b'), chr(12), '\f'), chr(10), '\n'), chr(13), '\r'), chr(9), '\t'), chr(0), '\0') || '''');
create or replace macro ch_bool(s) as case when lower(s) in ('true', '1', 't', 'y', 'yes', 'on', 'enable', 'enabled') then true when lower(s) in ('false', '0', 'f', 'n', 'no', 'off', 'disable', 'disabled') then false end;
create or replace macro ch_between(x, lo, hi) as case when x < lo then lo when x > hi then hi else x end;
create or replace macro ch_instant(s) as make_timestamp((ch_between(s, -62135596800, 253402300799) * 1000000)::bigint);
create or replace macro ch_float_instant(s) as make_timestamp((case when isnan(s) then s else ch_between(s, -62135596800, 253402300799) end * 1000000)::bigint);
create or replace macro ch_milli_instant(ms) as make_timestamp_ms(ch_between(ms, -62135596800000, 253402300799999)::bigint);
create or replace macro ch_toint(s) as try_cast(regexp_extract(s, '^[+-]?[0-9]+$') as bigint);
-- No blanks, underscores or second signs, which the engine reads over.
create or replace macro ch_float(s) as try_cast(regexp_extract(s, '^(?:[-.0-9A-Za-z]|\+[.0-9A-Za-z])[-+.0-9A-Za-z]*$') as double);
-- ClickHouse's quick reader of floats takes a missing mantissa for 0 and a missing exponent for none.
create or replace macro ch_half_float(s) as case when regexp_full_match(s, '[+-]?([0-9]*\.?[0-9]*[eE]([+-][0-9]*|[0-9]+)|\.)') then coalesce(try_cast(regexp_extract(s, '^[+-]?[0-9.]*') as double), 0) end;
create or replace macro ch_exact_int(x) as case when x = trunc(x) then try_cast(x as bigint) end;
create or replace macro ch_cut(x, scale) as trunc((x)::double * pow(10, scale)) / pow(10, scale);
create or replace macro ch_decimal_text(s, scale) as case
  when regexp_full_match(s, '[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)') then regexp_extract(regexp_replace(s, '^([+-]?)', '\10'), concat('^[+-]?[0-9]*\.?[0-9]{0,', scale, '}'))
  when s <> '' and regexp_full_match(s, '[+-]?\.?([eE][+-]?[0-9]+)?') then '0'
  when isfinite(ch_float(s)) then ch_cut(ch_float(s), scale)::varchar
  end;
create or replace macro ch_whole_year(y) as case when length(y) = 4 then nullif(y, '0000') when length(y) = 2 then case when y < '70' then '20' else '19' end || y end;
create or replace macro ch_month_of(m) as case when m < 'A' then m else ((list_position(['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec', 'january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'], lower(m)) - 1) % 12 + 1)::varchar end;
create or replace macro ch_hour_of_day(h, half) as coalesce(case when half = 'p' and h < 12 then h + 12 when half = 'a' and h = 12 then 0 else h end, 0)::varchar;
create or replace macro ch_iso_time(e, y, m, d) as ch_whole_year(y) || '-' || ch_month_of(m) || '-' || d || ' ' || ch_hour_of_day(try_cast(e.h as integer), lower(e.half)) || ':' || coalesce(nullif(e.m, ''), '0') || ':' || coalesce(nullif(e.s, ''), '0') || case when e.zone <> '' then e.zone when e.utc <> '' then '+00' else '' end;
create or replace macro ch_iso_of_parts(parts) as list_transform([parts], lambda e: case
  when e.a >= 'A' then ch_iso_time(e, case when e.c = '' then e.b else e.c end, e.a, case when e.c = '' then '1' else e.b end)
  when length(e.a) = 4 then ch_iso_time(e, e.a, coalesce(nullif(e.b, ''), '1'), coalesce(nullif(e.c, ''), '1'))
  when try_cast(e.b as integer) > 12 then ch_iso_time(e, e.c, e.a, e.b)
  when e.a <> '' then ch_iso_time(e, e.c, e.b, e.a)
  end)[1];
-- A time as people and programs write it, in the order that the engine reads: 'Monday, 5 Feb 2024 10:00 PM UTC' is '2024-2-5 22:00:0+00'.
create or replace macro ch_spelled_time(s) as ch_iso_of_parts(regexp_extract(regexp_replace(replace(s, ', ', ' '), '^([0-9]{4})([0-9]{2})([0-9]{2})([T ]?([0-9]{2}):?([0-9]{2}):?([0-9]{2})|[T ]|$|Z$)', '\1-\2-\3 \5:\6:\7'), '(?i)^\s*(?:(?:sun|mon|tue|wed|thu|fri|sat)[a-z]* +)?([a-z]{3,9}|[0-9]{1,4})(?:[-/. ]+([a-z]{3,9}|[0-9]{1,2}|[0-9]{4}))?(?:[-/. ]+([0-9]{4}|[0-9]{1,2}))?(?:[T ]+(?:::|([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2}(?:\.[0-9]{1,9})?))?)?(?: ?([ap])m)?))? ?(z|utc|gmt)?([+-][0-9]{2}(?::?[0-9]{2})?)?(?: \(.*\))?\s*$', ['a', 'b', 'c', 'h', 'm', 's', 'half', 'utc', 'zone']));
create or replace macro ch_zoned_instant(s) as case
  when regexp_full_match(s, '[0-9]{9,10}(\.[0-9]*)?') then make_timestamp(try_cast(split_part(s, '.', 1) as bigint) * 1000000 + try_cast(rpad(split_part(s, '.', 2), 6, '0') as bigint))
  when regexp_full_match(s, '[0-9]{13}([0-9]{3})?') then make_timestamp(try_cast(rpad(s, 16, '0') as bigint))
  when regexp_matches(s, '(?i)([0-9]( ?[ap]m)? ?(z|utc|gmt)|[:T][0-9]{2,6}(\.[0-9]*)?( ?[ap]m)? ?(utc|gmt)?[+-][0-9]{2}(:?[0-9]{2})?)( \(.*\))?\s*$') then timezone('UTC', coalesce(case when regexp_matches(s, '^[0-9]{4}-') then try_cast(s as timestamptz) end, try_cast(ch_spelled_time(s) as timestamptz)))
  end;
-- The engine's cast reads 5/2/24 as a day of the year 5. The last pattern leaves out what is no time: words take 0.6 µs in place of 4.
create or replace macro ch_naive_instant(s) as coalesce(
  case when regexp_matches(s, '^[0-9]{4}-') then try_cast(s as timestamp) end,
  case when regexp_matches(s, '(?i)^\s*((sun|mon|tue|wed|thu|fri|sat)[a-z]*,? +)?((jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/. ]|[0-9]{1,14}([-/. :T]|$))') then try_cast(ch_spelled_time(s) as timestamp) end);
create or replace macro ch_month_first(s) as coalesce(strftime(try_strptime(s, ['%m/%d/%Y %H:%M:%S', '%m/%d/%Y', '%m-%d-%Y %H:%M:%S', '%m-%d-%Y']), '%Y-%m-%d %H:%M:%S'), s);
create or replace macro ch_uuidv7_ts(u) as make_timestamp((('0x' || replace(left(u::varchar, 13), '-', ''))::bigint) * 1000);
create or replace macro ch_is_ipv4(s) as regexp_full_match(s, '((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])');
create or replace macro ch_ipv4_number(s) as case when ch_is_ipv4(s) then split_part(s, '.', 1)::bigint * 16777216 + split_part(s, '.', 2)::bigint * 65536 + split_part(s, '.', 3)::bigint * 256 + split_part(s, '.', 4)::bigint end;
create or replace macro ch_ipv4_text(n) as concat_ws('.', (n >> 24) & 255, (n >> 16) & 255, (n >> 8) & 255, n & 255);
create or replace macro ch_scaled(x, base, names) as case when x is null then null when isnan(x::double) then concat('nan ', names[1]) else (select printf('%.2f %s', x::double / pow(base, k), names[k + 1]) from (select least(case when abs(x::double) < 1 then 0 else floor(ln(abs(x::double)) / ln(base) + 1e-12) end, len(names) - 1)::integer as k)) end;
create or replace macro ch_readable_size(x) as ch_scaled(x, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'ZiB', 'YiB']);
create or replace macro ch_readable_decimal_size(x) as ch_scaled(x, 1000, ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB', 'YB']);
create or replace macro ch_readable_quantity(x) as trim(ch_scaled(x, 1000, ['', 'thousand', 'million', 'billion', 'trillion', 'quadrillion', 'quintillion', 'sextillion', 'septillion']));

-- text

create or replace macro ch_repeat(s, n) as repeat(s, greatest(ch_size(n, 1000000 // greatest(strlen(s), 1)), 0)::bigint);
create or replace macro ch_lpad(s, n, pad) as lpad(s, ch_size(n, 1000000)::integer, case when pad = '' then ' ' else pad end);
create or replace macro ch_rpad(s, n, pad) as rpad(s, ch_size(n, 1000000)::integer, case when pad = '' then ' ' else pad end);
create or replace macro ch_bar(x, lo, hi, width) as repeat('█', greatest(least(round((x - lo)::double / (hi - lo) * ch_size(width, 1000)), width), 0)::bigint);
-- The engine's substring of ASCII and of other texts differ where the start is before the text.
create or replace macro ch_substring(s, start, n) as case when start = 0 then '' when start < -length(s) then substring(s, 1, greatest(length(s) + n + case when n < 0 then 0 else start end, 0)::bigint) when n < 0 then substring(s, start::bigint, greatest(length(s) + n - (case when start < 0 then length(s) + start else start - 1 end), 0)::bigint) else substring(s, start::bigint, n::bigint) end;
create or replace macro ch_replace(s, a, b) as case when b is null then null when a = '' then s when strlen(b) > strlen(a) and strlen(s) // strlen(a) * strlen(b) > 100000000 then error('The result would be too large') else replace(s, a, b) end;
create or replace macro ch_regexp_replace_all(s, re, b) as case when b is not null and re = '' then s when (strlen(s) + 1) * (strlen(b) + 1) > 1000000000 then error('The result would be too large') else regexp_replace(s, re, b, 'gs') end;
create or replace macro ch_regexp_replace_one(s, re, b) as case when b is not null and re = '' then s when (strlen(s) + 1) * (strlen(b) + 1) > 1000000000 then error('The result would be too large') else regexp_replace(s, re, b, 's') end;
create or replace macro ch_replace_one(s, a, b) as case when s is null or a is null or b is null then null when a = '' or strpos(s, a) = 0 then s else concat(left(s, strpos(s, a) - 1), b, substring(s, strpos(s, a) + length(a))) end;
create or replace macro ch_append_trailing(s, c) as case when s is null or c is null then null when s = '' or ends_with(s, c) then s else concat(s, c) end;
create or replace macro ch_xml_escape(s) as replace(replace(replace(replace(replace(s, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&apos;');
create or replace macro ch_ascii_lower(s) as translate(s, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz');
create or replace macro ch_ascii_upper(s) as translate(s, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ');
create or replace macro ch_lower(s) as list_transform([s], lambda t: case when strlen(t) = length(t) then lower(t) else ch_ascii_lower(t) end)[1];
create or replace macro ch_upper(s) as list_transform([s], lambda t: case when strlen(t) = length(t) then upper(t) else ch_ascii_upper(t) end)[1];
create or replace macro ch_initcap(s) as array_to_string(list_transform(regexp_extract_all(s, '[0-9A-Za-z]+|[^0-9A-Za-z]+'), lambda e: case when ascii(e) < 128 then concat(upper(e[1]), lower(e[2:])) else e end), '');
create or replace macro ch_initcap_utf8(s) as array_to_string(list_transform(regexp_extract_all(s, '[\p{L}\p{N}]+|[^\p{L}\p{N}]+'), lambda e: concat(case when length(upper(e[1])) = 1 and e[1] <> 'ß' then upper(e[1]) else e[1] end, lower(e[2:]))), '');
create or replace macro ch_position_from(h, n, start) as case when strpos(substring(h, greatest(start, 1)::bigint), n) = 0 then 0 else strpos(substring(h, greatest(start, 1)::bigint), n) + greatest(start, 1) - 1 end;
create or replace macro ch_count_substrings(h, n) as case when n = '' then 0 else (strlen(h) - strlen(replace(h, n, ''))) // strlen(n) end;
-- What was found in turn, up to the first time that nothing was: `whole` says what the pattern took each time.
create or replace macro ch_until_empty(found, whole) as case when list_contains(whole, '') then found[:list_position(whole, '') - 1] else found end;
-- A backslash before an ordinary character stands for itself, which ESCAPE would leave out.
create or replace macro ch_like_pattern(p) as regexp_replace(p, '(\\[%_\\])|(\\)', '\1\2\2', 'g');
create or replace macro ch_has_group(re) as regexp_matches(re, '(^|[^\\])\(($|[^?]|\?P?<)');
create or replace macro ch_extract(s, re) as case when ch_has_group(re) then regexp_extract(s, re, 1, 's') else regexp_extract(s, re, 0, 's') end;
create or replace macro ch_extract_all(s, re) as ch_until_empty(case when ch_has_group(re) then list_transform(regexp_extract_all(s, re, 1, 's'), lambda e: coalesce(e, '')) else regexp_extract_all(s, re, 0, 's') end, regexp_extract_all(s, re, 0, 's'));
create or replace macro ch_subsequence(s) as array_to_string(list_transform(string_split(s, ''), lambda e: regexp_escape(e)), '.*');
create or replace macro ch_ngrams(s, n) as list_transform(range(1, length(s) - n + 2), lambda i: substring(s, i, n::bigint));
-- Text with other letters is no bytes: of one such row among many the others are answered.
create or replace macro ch_unhex(s) as list_transform([s], lambda e: coalesce(try(decode(unhex(e))), case when e is not null then '' end))[1];
create or replace macro ch_hexint(x) as case when length(hex(x)) % 2 = 1 then concat('0', hex(x)) else hex(x) end;
create or replace macro ch_levenshtein(a, b) as case when strlen(a) > 5000 or strlen(b) > 5000 then error('The texts are too long to compare') else levenshtein(a, b) end;

-- JSON

create or replace macro ch_json(s) as case when json_valid(s) then s else 'null' end;
create or replace macro ch_pointer_part(k) as concat('/', replace(replace(k, '~', '~0'), '/', '~1'));
create or replace macro ch_json_length(j, p) as case json_type(j, p) when 'ARRAY' then json_array_length(j, p)::bigint when 'OBJECT' then len(json_keys(j, p))::bigint else 0 end;
create or replace macro ch_json_array_length(j, p) as case json_type(j, p) when 'ARRAY' then json_array_length(j, p)::bigint end;
create or replace macro ch_json_type(j, p) as case json_type(j, p) when 'VARCHAR' then 'String' when 'BIGINT' then 'Int64' when 'UBIGINT' then 'Int64' when 'HUGEINT' then 'UInt64' when 'DOUBLE' then 'Double' when 'BOOLEAN' then 'Bool' when 'ARRAY' then 'Array' when 'OBJECT' then 'Object' else 'Null' end;
create or replace macro ch_json_float(j, p) as case json_type(j, p) when 'BOOLEAN' then 0 when 'VARCHAR' then coalesce(ch_float(json_extract_string(j, p)), 0) else coalesce(ch_finite(try_cast(json_extract_string(j, p) as double)), 0) end;
-- The engine reads nan and inf as JSON.
create or replace macro ch_finite(x) as case when isfinite(x) then x end;
create or replace macro ch_json_int(j, p) as case json_type(j, p) when 'BOOLEAN' then 0 else coalesce(ch_toint(json_extract_string(j, p)), try_cast(trunc(ch_finite(ch_float(json_extract_string(j, p)))) as bigint), 0) end;
create or replace macro ch_json_uint(j, p) as case json_type(j, p) when 'UBIGINT' then json_extract_string(j, p)::hugeint else greatest(ch_json_int(j, p), 0) end;
create or replace macro ch_json_bool(j, p) as case json_type(j, p) when 'BOOLEAN' then json_extract_string(j, p)::boolean when 'UBIGINT' then json_extract_string(j, p)::ubigint <> 0 when 'BIGINT' then json_extract_string(j, p)::bigint <> 0 else false end;
create or replace macro ch_json_string(j, p) as coalesce(json_extract_string(j, p), '');
create or replace macro ch_json_array(j, p) as case json_type(j, p) when 'ARRAY' then list_transform(cast(json_extract(j, p) as json[]), lambda e: coalesce(e::varchar, 'null')) else [] end;
create or replace macro ch_json_pairs(j, p) as list_transform(coalesce(json_keys(j, p), []), lambda k: {'1': k, '2': json_extract(json_extract(j, p), ch_pointer_part(k))::varchar});

-- arrays

create or replace macro ch_range(first, stop, step) as case when step > 0 and (stop - first) // step > 1000000 then error('The array would be too large') else range(first::bigint, stop::bigint, step::bigint) end;
create or replace macro ch_array_distinct(a) as list_filter(a, lambda e, i: list_position(a, e) = i);
create or replace macro ch_has_substr(a, b) as len(b) = 0 or len(list_filter(range(1, len(a) - len(b) + 2), lambda i: a[i:(i + len(b) - 1)] = b)) > 0;
create or replace macro ch_enumerate_uniq(a) as list_transform(a, lambda e, i: len(list_filter(a[1:i], lambda f: f is not distinct from e)));
create or replace macro ch_enumerate_dense(a) as list_transform(a, lambda e: list_position(ch_array_distinct(a), e)::bigint);
create or replace macro ch_array_resize(a, n, fill) as case when n < 0 then list_concat(list_transform(ch_range(0, greatest(-(n) - len(a), 0), 1), lambda i: fill), a[greatest(len(a) + n + 1, 1):]) when n <= len(a) then a[:n] else list_concat(a, list_transform(ch_range(0, n - len(a), 1), lambda i: fill)) end;
create or replace macro ch_slice_start(a, first) as case when first < 0 then len(a) + first + 1 else first end;
create or replace macro ch_array_from(a, first) as case when first = 0 then a[:0] else list_slice(a, greatest(ch_slice_start(a, first), 1), len(a)) end;
create or replace macro ch_array_slice(a, first, n) as case when first = 0 then a[:0] else list_slice(a, greatest(ch_slice_start(a, first), 1), case when n is null then len(a) when n < 0 then len(a) + n else ch_slice_start(a, first) + n - 1 end) end;
create or replace macro ch_array_rotate(a, n) as case when len(a) = 0 then a else list_concat(a[((((n % len(a)) + len(a)) % len(a)) + 1):], a[:(((n % len(a)) + len(a)) % len(a))]) end;
create or replace macro ch_sort_by(a, ks) as list_transform(list_sort(list_transform(list_zip(ks, range(1, len(a) + 1), a), lambda z: {'k': z[1], 'i': z[2], 'v': z[3]})), lambda z: struct_extract(z, 'v'));
create or replace macro ch_sort_by_down(a, ks) as list_transform(list_sort(list_transform(list_zip(ks, range(1, len(a) + 1), a), lambda z: {'n': z[1] is not null, 'k': z[1], 'i': -z[2], 'v': z[3]}), 'DESC'), lambda z: struct_extract(z, 'v'));
create or replace macro ch_array_keep(a, m) as list_filter(a, lambda e, i: m[i]);
create or replace macro ch_array_difference(a) as list_transform(a, lambda e, i: case when i = 1 then 0 else e - a[i - 1] end);
create or replace macro ch_array_compact(a) as list_filter(a, lambda e, i: i = 1 or e is distinct from a[i - 1]);
create or replace macro ch_array_fill(a, m) as list_transform(a, lambda e, i: a[greatest(coalesce(list_max(list_filter(range(1, i + 1), lambda j: j = 1 or m[j])), 1), 1)]);
-- By characters; the engine keeps a letter and its accents together.
create or replace macro ch_reverse(s) as case when s is not null then array_to_string(list_reverse(regexp_extract_all(s, '(?s).')), '') end;
create or replace macro ch_has_null(a) as len(a) > list_count(a);
create or replace macro ch_array_rfill(a, m) as list_reverse(ch_array_fill(list_reverse(a), list_reverse(m)));
create or replace macro ch_array_split(a, m) as case when len(a) = 0 then [] else list_transform(list_filter(range(1, len(a) + 1), lambda i: i = 1 or m[i]), lambda s: a[s:(coalesce(list_min(list_filter(range(s + 1, len(a) + 1), lambda j: m[j])), len(a) + 1) - 1)]) end;
create or replace macro ch_array_rsplit(a, m) as case when len(a) = 0 then [] else list_transform(list_filter(range(1, len(a) + 1), lambda i: i = 1 or m[i - 1]), lambda s: a[s:coalesce(list_min(list_filter(range(s, len(a) + 1), lambda j: m[j])), len(a))]) end;
create or replace macro ch_last_index(m) as coalesce(list_max(list_filter(range(1, len(m) + 1), lambda i: m[i])), 0);
create or replace macro ch_cumsum(a) as list_transform(a, lambda e, i: list_sum(a[1:i]));
create or replace macro ch_cumsum_nonneg(a) as list_transform(a, lambda e, i: list_reduce(list_prepend(0, a[1:i]), lambda acc, y: greatest(acc + y, 0)));
-- Of the two elements that quantile_disc found at the level and just above it, the one at floor(level * n): the first is at n - floor(n - level * n) - 1.
create or replace macro ch_at_level(pair, level, n) as pair[case when floor(level * n) < greatest(1, n - floor(n - level * n)) then 1 else 2 end];
create or replace macro ch_bitmap_xor(a, b) as list_sort(list_concat(list_filter(a, lambda e: not list_contains(b, e)), list_filter(b, lambda e: not list_contains(a, e))));
create or replace macro ch_lp_norm(a, p) as pow(list_sum(list_transform(a, lambda e: pow(abs(e), p))), 1.0 / p)::double;

create or replace macro ch_few(a) as case when len(a) > 3000 then error('The sequence would be too long') else a end;

-- association of two columns, given as a list of {a, b}

create or replace macro ch_counts(a) as map_values(list_aggregate(a, 'histogram'));
create or replace macro ch_pair_counts(a) as map_entries(list_aggregate(a, 'histogram'));
create or replace macro ch_contingency(a) as list_transform([{'ab': ch_pair_counts(a), 'a': list_aggregate(list_transform(a, lambda e: struct_extract(e, 'a')), 'histogram'), 'b': list_aggregate(list_transform(a, lambda e: struct_extract(e, 'b')), 'histogram')}], lambda h: {'n': len(a), 'r': len(map_keys(struct_extract(h, 'a'))), 'c': len(map_keys(struct_extract(h, 'b'))), 'phi': greatest(list_sum(list_transform(struct_extract(h, 'ab'), lambda e: struct_extract(e, 'value')::double * struct_extract(e, 'value') / (struct_extract(h, 'a')[struct_extract(e, 'key').a]::double * struct_extract(h, 'b')[struct_extract(e, 'key').b]))) - 1, 0)})[1];
create or replace macro ch_cramers_v(s) as sqrt(s.phi / (least(s.r, s.c) - 1));
create or replace macro ch_cramers_v_corrected(s) as sqrt(greatest(s.phi - (s.r - 1) * (s.c - 1) / (s.n - 1)::double, 0) / least(s.r - pow(s.r - 1, 2) / (s.n - 1)::double - 1, s.c - pow(s.c - 1, 2) / (s.n - 1)::double - 1));
create or replace macro ch_entropy_sum(counts, n) as list_sum(list_transform(counts, lambda e: (e / n::double) * ln(e / n::double)));
create or replace macro ch_theils_u(a) as -(ch_entropy_sum(ch_counts(a), len(a)) - ch_entropy_sum(ch_counts(list_transform(a, lambda e: struct_extract(e, 'b'))), len(a)) - ch_entropy_sum(ch_counts(list_transform(a, lambda e: struct_extract(e, 'a'))), len(a))) / ch_entropy_sum(ch_counts(list_transform(a, lambda e: struct_extract(e, 'a'))), len(a));
create or replace macro ch_weighted_median(a) as case when len(a) > 3000 then error('The group would be too large') else list_filter(a, lambda e, i: list_sum(list_transform(a[1:i], lambda f: struct_extract(f, 'b'))) >= list_sum(list_transform(a, lambda f: struct_extract(f, 'b'))) * 0.5)[1].a end;

-- dates: the argument is the local clock

create or replace macro ch_start_of_isoyear(t) as date_trunc('week', make_date(isoyear(t), 1, 4))::date;
-- Days beyond the end of a month are days of the next one; for what no calendar or clock has there is no result.
create or replace macro ch_make_date(y, m, d) as case when y between 1 and 9999 and m between 1 and 12 and d between 1 and 31 then make_date(y::bigint, m::bigint, 1) + (d - 1)::integer end;
create or replace macro ch_make_time(y, mo, d, h, mi, s) as case when y between 1 and 9999 and mo between 1 and 12 and d between 1 and 31 and h between 0 and 99 and mi between 0 and 99 and s >= 0 and s < 100 then make_timestamp(y::bigint, mo::bigint, 1, 0, 0, 0) + to_days((d - 1)::integer) + to_hours(h::bigint) + to_minutes(mi::bigint) + to_microseconds(round(s * 1000000)::bigint) end;
create or replace macro ch_age_months(a, b) as date_diff('month', a, b) - case when a <= b and strftime(b, '%d%H%M%S%f') < strftime(a, '%d%H%M%S%f') then 1 when a > b and strftime(b, '%d%H%M%S%f') > strftime(a, '%d%H%M%S%f') then -1 else 0 end;
create or replace macro ch_week1(t) as case when isoyear(t) < year(t) then 0 when isoyear(t) > year(t) then 53 else weekofyear(t) end;
create or replace macro ch_offset_text(s) as printf('%+03d%02d', s // 3600, abs(s) // 60 % 60);
create or replace macro ch_week0(t) as strftime(t, '%U')::bigint;
create or replace macro ch_yearweek0(t) as case when strftime(t, '%U') = '00' then strftime(make_date(year(t) - 1, 12, 31), '%Y%U')::bigint else strftime(t, '%Y%U')::bigint end;

-- web addresses

create or replace macro ch_host(u) as case when regexp_matches(u, '^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//') then regexp_extract(u, '^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//(?:[^/?#@:]*@)?([^/?#:@]*)(?:$|[/?#]|:[0-9]*(?:$|[/?#]))', 1) when regexp_matches(u, '^[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)+') then regexp_extract(u, '^([a-zA-Z0-9._-]+)', 1) when u is null then null else '' end;
create or replace macro ch_domain(u) as case when regexp_matches(ch_host(u), '\..') and not ends_with(ch_host(u), '.') then ch_host(u) when u is null then null else '' end;
create or replace macro ch_tld(u) as regexp_extract(ch_domain(u), '\.([^.0-9][^.]*)$', 1);
create or replace macro ch_port(u) as case when ch_domain(u) = '' then null else try_cast(regexp_extract(u, '^(?:(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)?[^/?#]*:([0-9]+)(?:$|[/?#])', 1) as bigint) end;
create or replace macro ch_cut_sig(u) as regexp_extract(regexp_replace(ch_domain(u), '^www\.', ''), '([^.]+\.(?:(?:com|net|org|co|biz)\.)?[^.]+)$', 1);
create or replace macro ch_cut_sig_www(u) as regexp_extract(ch_domain(u), '([^.]+\.(?:(?:com|net|org|co|biz)\.)?[^.]+)$', 1);
create or replace macro ch_first_sig(u) as split_part(ch_cut_sig(u), '.', 1);
create or replace macro ch_after_scheme(u) as regexp_replace(u, '^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//', '');
create or replace macro ch_path(u) as regexp_extract(ch_after_scheme(u), '^[^/]*(/[^?#]*)', 1);
create or replace macro ch_path_full(u) as regexp_extract(ch_after_scheme(u), '^[^/]*(/.*)$', 1);
create or replace macro ch_qsf(u) as regexp_replace(regexp_extract(u, '[?#].*$', 0), '^\?', '');
create or replace macro ch_url_param(u, n) as regexp_extract(u, '[?&#]' || regexp_escape(n) || '=([^&#]*)', 1);
create or replace macro ch_cut_param(u, n) as regexp_replace(regexp_replace(regexp_replace(u, '([?&])' || regexp_escape(n) || '=[^&#]*(&|$|#)', '\1\2'), '([?&])&', '\1'), '&(#|$)', '\1');
create or replace macro ch_url_hierarchy(u) as list_transform(list_filter(range(1, length(u) + 1), lambda i: (u[i] in ('/', '?', '#') and i > length(regexp_extract(u, '^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//'))) or i = length(u)), lambda i: u[1:i]);
create or replace macro ch_url_path_hierarchy(u) as list_transform(list_filter(range(2, length(ch_path_full(u)) + 1), lambda i: ch_path_full(u)[i] in ('/', '?', '#') or i = length(ch_path_full(u))), lambda i: ch_path_full(u)[1:i]);

-- IPv6 addresses: text, and numbers of 128 bits

create or replace macro ch_dotted_hex(s) as list_transform([s], lambda t: case when contains(t, '.') then list_transform([ch_ipv4_number(regexp_extract(t, '[^:]*$'))], lambda n: concat(regexp_extract(t, '^(.*:)[^:]*$', 1), printf('%x:%x', n >> 16, n & 65535)))[1] else t end)[1];
create or replace macro ch_ipv6_groups(s) as list_transform([list_transform(string_split(s, '::'), lambda t: case when t = '' then [] else string_split(t, ':') end)], lambda h: case when len(h) = 1 then h[1] when len(h) = 2 and len(h[1]) + len(h[2]) < 8 then list_concat(list_concat(h[1], list_transform(range(8 - len(h[1]) - len(h[2])), lambda i: '0')), h[2]) else [] end)[1];
create or replace macro ch_ipv6_number(s) as list_transform([ch_ipv6_groups(ch_dotted_hex(s))], lambda g: case when len(g) = 8 and len(list_filter(g, lambda e: regexp_full_match(e, '[0-9A-Fa-f]{1,4}'))) = 8 then list_reduce(list_transform(g, lambda e: try_cast(concat('0x', e) as bigint)::uhugeint), lambda a, b: a * 65536::uhugeint + b) end)[1];
create or replace macro ch_ip_number(s) as list_transform([s], lambda a: case when ch_is_ipv4(a) then 281470681743360::uhugeint + ch_ipv4_number(a)::uhugeint else ch_ipv6_number(a) end)[1];
create or replace macro ch_ipv6_long(n) as array_to_string(list_transform(range(8), lambda i: lower(printf('%x', ((n >> (112 - 16 * i)::uhugeint) & 65535::uhugeint)::bigint))), ':');
create or replace macro ch_trim_colons(t) as regexp_replace(regexp_replace(t, '^:([^:])', '\1'), '([^:]):$', '\1');
create or replace macro ch_ipv6_short(t) as list_transform([t], lambda u: case when u = '0:0:0:0:0:0:0:0' then '::' else list_transform([list_max(list_transform(regexp_extract_all(concat(':', u, ':'), ':(?:0:)+'), lambda e: strlen(e)))], lambda m: case when m is null or m < 5 then u else ch_trim_colons(regexp_replace(concat(':', u, ':'), concat(':(0:){', (m - 1) // 2, '}'), '::')) end)[1] end)[1];
create or replace macro ch_ipv6_text(n) as list_transform([n], lambda m: case when m is null then null when (m >> 32::uhugeint) = 65535::uhugeint then concat('::ffff:', ch_ipv4_text((m & 4294967295::uhugeint)::bigint)) else ch_ipv6_short(ch_ipv6_long(m)) end)[1];
create or replace macro ch_ip_low(n, bits) as (n >> (128 - bits)::uhugeint) << (128 - bits)::uhugeint;
create or replace macro ch_in_range(s, net, bits) as case when ch_is_ipv4(s) <> ch_is_ipv4(net) then false when bits = 0 then true when ch_is_ipv4(s) then (ch_ipv4_number(s) >> (32 - bits)) = (ch_ipv4_number(net) >> (32 - bits)) else (ch_ipv6_number(s) >> (128 - bits)::uhugeint) = (ch_ipv6_number(net) >> (128 - bits)::uhugeint) end;

-- places on the globe

create or replace macro ch_haversine(lon1, lat1, lon2, lat2) as 2 * asin(least(1, sqrt(pow(sin(radians(lat2 - lat1) / 2), 2) + cos(radians(lat1)) * cos(radians(lat2)) * pow(sin(radians(lon2 - lon1) / 2), 2))));
create or replace macro ch_geo_turn(lon1, lon2) as case when abs(lon1 - lon2) > 180 then 360 - abs(lon1 - lon2) else abs(lon1 - lon2) end;
create or replace macro ch_geo_near(dlon, dlat, mid) as sqrt(pow((111132.09 - 566.05 * cos(2 * mid) + 1.20 * cos(4 * mid)) * dlat, 2) + pow((111415.13 * cos(mid) - 94.55 * cos(3 * mid) + 0.12 * cos(5 * mid)) * dlon, 2));
create or replace macro ch_geo_distance(lon1, lat1, lon2, lat2) as case when ch_geo_turn(lon1, lon2) < 13 then ch_geo_near(ch_geo_turn(lon1, lon2), lat1 - lat2, radians((lat1 + lat2) / 2)) else 6371000 * ch_haversine(lon1, lat1, lon2, lat2) end;
create or replace macro ch_geo_bit(lon, lat, i) as case when i % 2 = 0 then floor((lon + 180) / 360 * pow(2, i // 2 + 1)) else floor((lat + 90) / 180 * pow(2, i // 2 + 1)) end::bigint & 1;
create or replace macro ch_geohash(lon, lat, n) as array_to_string(list_transform(range(case when n < 1 or n > 12 then 12 else n end), lambda i: substring('0123456789bcdefghjkmnpqrstuvwxyz', ch_geo_bit(lon, lat, 5 * i) * 16 + ch_geo_bit(lon, lat, 5 * i + 1) * 8 + ch_geo_bit(lon, lat, 5 * i + 2) * 4 + ch_geo_bit(lon, lat, 5 * i + 3) * 2 + ch_geo_bit(lon, lat, 5 * i + 4) + 1, 1)), '');
create or replace macro ch_geohash_bits(s) as flatten(list_transform(string_split(s, ''), lambda e: list_transform(range(5), lambda i: ((strpos('0123456789bcdefghjkmnpqrstuvwxyz', e) - 1) >> (4 - i)) & 1)));
create or replace macro ch_halving(bits, low, width) as low + width * (coalesce(list_sum(list_transform(bits, lambda e, i: e / pow(2, i))), 0) + 0.5 / pow(2, len(bits)));
create or replace macro ch_geohash_decode(s) as case when s = '' then {'1': 0::double, '2': 0::double} else list_transform([ch_geohash_bits(left(lower(s), 12))], lambda b: {'1': ch_halving(list_filter(b, lambda e, i: i % 2 = 1), -180, 360)::double, '2': ch_halving(list_filter(b, lambda e, i: i % 2 = 0), -90, 180)::double})[1] end;

-- other spellings of text and numbers

-- The engine's TRY refuses volatile expressions, and `error` is one; a lambda's parameter is none.
create or replace macro ch_try_base64(s) as list_transform([s], lambda e: coalesce(try(decode(from_base64(e))), ''))[1];
create or replace macro ch_wrap(x, bits, is_signed) as case when is_signed and ((x::hugeint % (1::hugeint << bits::hugeint)) + (1::hugeint << bits::hugeint)) % (1::hugeint << bits::hugeint) >= (1::hugeint << (bits - 1)::hugeint) then ((x::hugeint % (1::hugeint << bits::hugeint)) + (1::hugeint << bits::hugeint)) % (1::hugeint << bits::hugeint) - (1::hugeint << bits::hugeint) else ((x::hugeint % (1::hugeint << bits::hugeint)) + (1::hugeint << bits::hugeint)) % (1::hugeint << bits::hugeint) end;
create or replace macro ch_bytes_number(s, n) as case when s is not null then coalesce(list_sum(list_transform(range(least(strlen(s), n)), lambda i: ('0x' || substring(hex(s), 2 * i + 1, 2))::bigint::hugeint << (8 * i)::hugeint)), 0::hugeint) end;
create or replace macro ch_erf(x) as case when x is null then null when isnan(x) then x when abs(x) > 6 then sign(x)::double else exp(-x * x) * list_sum(list_transform(range(0, 130), lambda n: pow(x, 2 * n + 1) / gamma(n + 1.5))) end;
create or replace macro ch_erfc_tail(x) as exp(-x * x) / sqrt(pi()) / list_reduce(list_prepend(x, range(80, 0, -1)::double[]), lambda a, k: x + k / 2 / a);
create or replace macro ch_erfc(x) as case when x > 2 then ch_erfc_tail(x) when x < -2 then 2 - ch_erfc_tail(-x) else 1 - ch_erf(x) end;
create or replace macro ch_xml_piece(e) as case when e = '&lt;' then '<' when e = '&gt;' then '>' when e = '&amp;' then '&' when e = '&quot;' then '"' when e = '&apos;' then '''' when regexp_full_match(e, '&#[0-9]{1,7};') and substring(e, 3, strlen(e) - 3)::integer between 1 and 1114111 then chr(substring(e, 3, strlen(e) - 3)::integer) when regexp_full_match(e, '&#[xX][0-9A-Fa-f]{1,6};') and concat('0x', substring(e, 4, strlen(e) - 4))::integer between 1 and 1114111 then chr(concat('0x', substring(e, 4, strlen(e) - 4))::integer) else e end;
create or replace macro ch_xml_unescape(s) as array_to_string(list_transform(regexp_extract_all(s, '&[#a-zA-Z0-9]+;|[^&]+|&'), lambda e: ch_xml_piece(e)), '');
create or replace macro ch_html_text(s) as trim(regexp_replace(regexp_replace(regexp_replace(s, '(?is)<!--.*?-->|<script[^>]*>.*?</script>|<style[^>]*>.*?</style>', '', 'g'), '(?s)<[^>]*>', ' ', 'g'), '\s+', ' ', 'g'));
create or replace macro ch_gram_common(a, b) as coalesce(list_sum(list_transform(map_entries(a), lambda e: least(struct_extract(e, 'value'), coalesce(b[struct_extract(e, 'key')], 0)))), 0);
create or replace macro ch_grams(s, n) as case when strlen(s) > 30000 then error('The text would be too long') else ch_ngrams(s, n) end;
create or replace macro ch_gram_distance(a, b) as case when len(a) + len(b) = 0 then 0.0 else (len(a) + len(b) - 2 * ch_gram_common(list_aggregate(a, 'histogram'), list_aggregate(b, 'histogram')))::double / (len(a) + len(b)) end;
create or replace macro ch_gram_search(a, b) as case when a is null or b is null then null when len(b) = 0 then 0.0 else ch_gram_common(list_aggregate(a, 'histogram'), list_aggregate(b, 'histogram'))::double / len(b) end;
create or replace macro ch_auc(scores, labels) as list_sum(list_transform(range(1, len(scores) + 1), lambda i: case when labels[i] > 0 then list_sum(list_transform(range(1, len(scores) + 1), lambda j: case when labels[j] > 0 then 0 when scores[i] > scores[j] then 1.0 when scores[i] = scores[j] then 0.5 else 0 end)) else 0 end)) / (len(list_filter(labels, lambda e: e > 0))::double * len(list_filter(labels, lambda e: e <= 0)));
create or replace macro ch_in_polygon(p, c) as len(list_filter(range(1, len(c) + 1), lambda i: ((c[i]."2" > p."2") <> (c[i % len(c) + 1]."2" > p."2")) and p."1" < (c[i % len(c) + 1]."1" - c[i]."1")::double * (p."2" - c[i]."2") / (c[i % len(c) + 1]."2" - c[i]."2") + c[i]."1")) % 2 = 1;

-- maps and spans of time

create or replace macro ch_map_merge(a, b, s) as list_transform([list_sort(list_distinct(list_concat(map_keys(a), map_keys(b))))], lambda k: map(k, list_transform(k, lambda e: coalesce(a[e], 0) + s * coalesce(b[e], 0))))[1];
create or replace macro ch_map_fill(m, last) as list_transform([range(list_min(map_keys(m)), list_min(map_keys(m)) + ch_size(last - list_min(map_keys(m)) + 1, 100000))], lambda k: map(k, list_transform(k, lambda e: coalesce(m[e], 0))))[1];
create or replace macro ch_whole_months(o, t) as date_diff('month', o, t) - case when t - date_trunc('month', t) < o - date_trunc('month', o) then 1 else 0 end;
create or replace macro ch_start_of_months(width, v, origin) as list_transform([{'t': v, 'o': origin, 'n': date_part('year', width) * 12 + date_part('month', width)}], lambda e: e.o + to_months((floor(ch_whole_months(e.o, e.t) / e.n) * e.n)::integer))[1];
create or replace macro ch_time_slots(t, d, size) as list_transform(range(floor(epoch(t) / size)::bigint, floor(epoch(t) / size)::bigint + ch_size(floor((epoch(t) + d) / size)::bigint - floor(epoch(t) / size)::bigint + 1, 100000)), lambda i: make_timestamp(i * size * 1000000));
create or replace macro ch_delta_part(n, word) as case when n = 0 then null when n = 1 then concat('1 ', word) else concat(n, ' ', word, 's') end;
create or replace macro ch_delta_join(a) as case len(a) when 0 then '0 seconds' when 1 then a[1] else concat(array_to_string(a[:-2], ', '), ' and ', a[-1]) end;
create or replace macro ch_time_delta(x) as case when x is null then null when not isfinite(x) then ch_float_text(x) else concat(case when x <= -1 then '-' else '' end, list_transform([trunc(abs(x))::hugeint], lambda s: ch_delta_join(list_filter([ch_delta_part(s // 31536000, 'year'), ch_delta_part(s % 31536000 // 2635200, 'month'), ch_delta_part(s % 31536000 % 2635200 // 86400, 'day'), ch_delta_part(s % 31536000 % 2635200 % 86400 // 3600, 'hour'), ch_delta_part(s % 31536000 % 2635200 % 86400 % 3600 // 60, 'minute'), ch_delta_part(s % 31536000 % 2635200 % 86400 % 60, 'second')], lambda e: e is not null)))[1]) end;
