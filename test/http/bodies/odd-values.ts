/** Values that nobody expects, and ways to put them in the place of any part of a good one. */

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json }

/** What may stand in the place of anything. */
export const ODD: readonly Json[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  2,
  1.5,
  7,
  1e9,
  2 ** 53,
  1e300,
  -1e300,
  '',
  ' ',
  'x',
  '1',
  'null',
  'all',
  '-1d',
  '-999999999d',
  '2024-02-30',
  "'",
  '"',
  '{x}',
  '(',
  '9999-12-31T23:59:59Z',
  '+275760-09-13',
  '0000-01-01',
  'NaN',
  '(a+)+$',
  '[',
  '[1,',
  'a b',
  '__proto__',
  'constructor',
  'toString',
  'a\u0000b',
  'a\ud800b',
  '𝒳',
  'x'.repeat(5000),
  'person_id',
  'select 1',
  "1 = 1'",
  '[constructor=a]',
  '../../1',
  'https://a.example:99999/',
  // Written as a text it throws.
  { toString: 1, valueOf: 1 },
  '$$_posthog_breakdown_other_$$',
  'ann',
  'open',
  [],
  [[]],
  [null],
  ['x', 'y'],
  [1, 2],
  [{}],
  {},
  { kind: 'EventsNode' },
  { a: { b: 1 } },
  { type: 'AND', values: [] },
  { key: 'id', type: 'cohort', value: 1 },
  { id: 1 },
  { kind: 'HogQLQuery', query: 'select 1' },
  { groups: [{}] },
  { values: [{ values: 1 }] },
]

/** Every place in a value, as a path; the value itself is the empty one. */
export function placesIn(
  value: unknown,
  path: readonly string[] = [],
): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  const inside = Object.entries(value).flatMap(([name, member]) =>
    placesIn(member, [...path, name]),
  )
  return [path, ...inside]
}

/** The same value with another in one of its places. */
export function withOdd(value: unknown, [name, ...rest]: readonly string[], odd: unknown): unknown {
  if (name === undefined) return odd
  const copy: Record<string, unknown> = { ...Object(value) }
  copy[name] = withOdd(copy[name], rest, odd)
  return Array.isArray(value) ? Object.values(copy) : copy
}
