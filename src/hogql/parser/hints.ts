/** HINTS: keywords of other SQL dialects that HogQL lacks, and what to write instead. */

/** Used in place of "unexpected …". Adding a hint means adding a line. */
export const HINTS: ReadonlyMap<string, string> = new Map([
  ['AT', 'AT TIME ZONE does not exist in HogQL; use toTimeZone(time, zone).'],
  ['DIV', 'There is no operator DIV; use intDiv(a, b).'],
  ['FETCH', 'FETCH FIRST does not exist in HogQL; use LIMIT.'],
  ['FORMAT', 'FORMAT does not exist in HogQL; answers are JSON.'],
  ['ISNULL', 'Use IS NULL.'],
  ['MOD', 'There is no operator MOD; use a % b.'],
  ['NOTNULL', 'Use IS NOT NULL.'],
  ['REPLACE', '* REPLACE does not exist in HogQL; name the columns.'],
  ['SETTINGS', 'SETTINGS cannot be given in a query.'],
  [';', 'Only one query can be asked at a time.'],
])
