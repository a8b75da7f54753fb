/** Parses ClickHouse type names, which decide how values of a column are written as JSON. */
import { findZone, offsetAtInstant } from '../../hogql/times/zones.ts'

/** The parts of a type that matter for writing; `plain` values are written by their JavaScript class alone. */
export type ClickHouseType =
  | { readonly kind: 'plain' }
  /** Integers; booleans of comparisons are written as 0 and 1, as ClickHouse does. */
  | { readonly kind: 'number' }
  | { readonly kind: 'datetime'; readonly clock: ZoneClock; readonly timezone: string }
  | { readonly kind: 'array'; readonly of: ClickHouseType }
  | { readonly kind: 'tuple'; readonly items: readonly ClickHouseType[] }
  | { readonly kind: 'map'; readonly key: ClickHouseType; readonly value: ClickHouseType }

/** The offset of a time zone from UTC in seconds, at an instant in microseconds. */
export type ZoneClock = (instant_us: bigint) => number

/** The type of values that have no other, and of the members of a map without types. */
export const PLAIN: ClickHouseType = { kind: 'plain' }
export const PLAIN_MAP = { key: PLAIN, value: PLAIN } as const
const NUMBER: ClickHouseType = { kind: 'number' }

/** Parses a type name such as `Nullable(DateTime64(6, 'Europe/Berlin'))`; unknown names are plain. */
export function readClickHouseType(name: string, timezone: string): ClickHouseType {
  const { head, args } = splitType(name.trim())
  const inner = (): readonly ClickHouseType[] =>
    args.map((arg) => readClickHouseType(arg, timezone))
  switch (head) {
    case 'Nullable':
    case 'LowCardinality':
      return inner()[0] ?? PLAIN
    case 'Array':
      return { kind: 'array', of: inner()[0] ?? PLAIN }
    case 'Tuple':
      return { kind: 'tuple', items: inner() }
    case 'Map': {
      const [key = PLAIN, value = PLAIN] = inner()
      return { kind: 'map', key, value }
    }
    case 'DateTime':
    case 'DateTime64':
      return datetime(readQuoted(args.at(-1)) ?? timezone)
    default:
      return /^U?Int\d+$/.test(head) ? NUMBER : PLAIN
  }
}

function datetime(timezone: string): ClickHouseType {
  return { kind: 'datetime', clock: zoneClock(timezone), timezone }
}

/** `Map(A, Tuple(B, C))` → head `Map`, args `A` and `Tuple(B, C)`. */
function splitType(name: string): { readonly head: string; readonly args: readonly string[] } {
  const open = name.indexOf('(')
  if (open < 0 || !name.endsWith(')')) return { head: name, args: [] }
  const args: string[] = []
  let depth = 0
  let start = open + 1
  for (let at = start; at < name.length - 1; at++) {
    const char = name[at]
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (char !== ',' || depth > 0) continue
    args.push(name.slice(start, at))
    start = at + 1
  }
  args.push(name.slice(start, -1))
  return { head: name.slice(0, open), args }
}

function readQuoted(arg: string | undefined): string | null {
  return /^\s*'([^']*)'\s*$/.exec(arg ?? '')?.[1] ?? null
}

/** Offsets change only at whole quarters of an hour, so they are cached per quarter. */
const QUARTER_US = 900_000_000n
const QUARTERS_MAX = 100_000

function zoneClock(name: string): ZoneClock {
  const zone = findZone(name, BigInt(Date.now()) * 1000n)
  if (zone.is_fixed) return () => zone.eras[0].offset_s
  const offsets = new Map<bigint, number>()
  return (instant_us) => {
    const quarter = instant_us / QUARTER_US
    const cached = offsets.get(quarter)
    if (cached !== undefined) return cached
    if (offsets.size >= QUARTERS_MAX) offsets.clear()
    const offset_s = offsetAtInstant(zone, instant_us)
    offsets.set(quarter, offset_s)
    return offset_s
  }
}
