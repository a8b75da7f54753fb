/**
 * Time zones without the engine: the offset changes of a zone around now, so that SQL can add them
 * with a CASE.
 */

import { Refusal } from '../../errors.ts'
import { DAY_US, SECOND_US } from '../../time.ts'
import type { CompileContext } from '../context.ts'
import { microsecondsOf, narrowTo, pin, shiftBy, type TimeValue } from './relative-time.ts'

/**
 * Years before and after now whose changes are spelled out. Outside of them SQL uses the engine's
 * ICU, which is 35 times slower.
 */
const YEARS_BACK = 8
const YEARS_AHEAD = 2
/** No zone keeps an offset for less than this (Morocco's Ramadan lasts four weeks). */
const PROBE_DAYS = 14n
const ZONES_MAX = 64

/** From this instant on (µs, UTC) the zone's local time is `offset_s` ahead of UTC. */
export type Era = { readonly from_us: bigint; readonly offset_s: number }

/** The offsets of a zone within [`eras[0].from_us`, `until_us`). */
export type Zone = {
  readonly name: string
  readonly eras: readonly [Era, ...Era[]]
  readonly until_us: bigint
  /** The offset never changes, inside or outside the window. */
  readonly is_fixed: boolean
}

// A pure cache: the zone's rules are constants of the platform, and the key is name and year. Gain: reading a zone takes 2 ms of
// processor time, about as long as compiling a query.
const zones_by_year = new Map<string, Zone>()
/** All dates of a query are read around the same `now_us`; the key of `zones_by_year` would take a tenth of an insight's time. */
let last_found: { readonly now_us: bigint; readonly zone: Zone } | null = null

/** Finds the offsets of a zone around `now_us`. Refuses names the platform does not know. */
export function findZone(name: string, now_us: bigint): Zone {
  if (last_found === null || last_found.now_us !== now_us || last_found.zone.name !== name)
    last_found = { now_us, zone: findInYear(name, now_us) }
  return last_found.zone
}

function findInYear(name: string, now_us: bigint): Zone {
  const year = new Date(Number(now_us / 1000n)).getUTCFullYear()
  const key = `${name}/${year}`
  const found = zones_by_year.get(key)
  if (found !== undefined) return found
  const zone = readZone(name, year)
  if (zones_by_year.size >= ZONES_MAX) zones_by_year.clear()
  zones_by_year.set(key, zone)
  return zone
}

/** The zone around the query's time. */
export function lookUpZone(name: string, context: CompileContext): Zone {
  return findZone(name, context.zones_us ?? context.now_us)
}

/** The query's `now`. */
export function nowIn(context: CompileContext): TimeValue {
  return context.relative_now ?? context.now_us
}

const FIXED =
  /^(UTC|GMT|Etc\/(UTC|GMT([+-]\d{1,2})?|Universal|Zulu|Greenwich|UCT)|Zulu|UCT|Universal)$/

function readZone(name: string, year: number): Zone {
  const offsetAt = zoneClock(name)
  const from_us = BigInt(Date.UTC(year - YEARS_BACK, 0)) * 1000n
  const until_us = BigInt(Date.UTC(year + YEARS_AHEAD + 1, 0)) * 1000n
  const first: Era = { from_us, offset_s: offsetAt(from_us) }
  if (FIXED.test(name)) return { name, eras: [first], until_us, is_fixed: true }
  const later: Era[] = []
  let offset_s = first.offset_s
  for (let at = from_us; at < until_us; at += PROBE_DAYS * DAY_US) {
    const next = at + PROBE_DAYS * DAY_US
    const next_offset_s = offsetAt(next)
    if (next_offset_s === offset_s) continue
    const change_us = findChange(offsetAt, at, next)
    if (change_us < until_us) later.push({ from_us: change_us, offset_s: next_offset_s })
    offset_s = next_offset_s
  }
  return { name, eras: [first, ...later], until_us, is_fixed: false }
}

/** Binary search for the second at which the offset changes between two instants. */
function findChange(offsetAt: (us: bigint) => number, from_us: bigint, to_us: bigint): bigint {
  const before = offsetAt(from_us)
  let low = from_us / SECOND_US
  let high = to_us / SECOND_US
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if (offsetAt(middle * SECOND_US) === before) low = middle
    else high = middle
  }
  return high * SECOND_US
}

const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/

// Gain: creating a format takes 100 µs of processor time, using one 2.5 µs.
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(name: string): Intl.DateTimeFormat {
  const found = formats.get(name)
  if (found !== undefined) return found
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  if (formats.size >= ZONES_MAX) formats.clear()
  formats.set(name, format)
  return format
}

function zoneClock(name: string): (us: bigint) => number {
  let format: Intl.DateTimeFormat
  try {
    format = formatOf(name)
  } catch {
    throw new Refusal('invalid_input', `Unknown timezone '${name}'.`, { attr: 'query' })
  }
  return (us) => {
    const match = OFFSET.exec(format.format(Number(us / 1000n)))
    if (match?.[1] === undefined) return 0
    const seconds = Number(match[2]) * 3600 + Number(match[3]) * 60 + Number(match[4] ?? 0)
    return match[1] === '-' ? -seconds : seconds
  }
}

/** The zone's offset from UTC at an instant, in seconds. */
export function offsetAtInstant(zone: Zone, instant_us: bigint): number {
  if (zone.is_fixed) return zone.eras[0].offset_s
  if (instant_us < zone.eras[0].from_us || instant_us >= zone.until_us) {
    return zoneClock(zone.name)(instant_us)
  }
  let offset_s = zone.eras[0].offset_s
  for (const era of zone.eras) if (era.from_us <= instant_us) offset_s = era.offset_s
  return offset_s
}

/**
 * The instant of a local time: the first of two for an ambiguous one, the moment of the jump for
 * one that does not exist.
 */
export function instantOfLocal(zone: Zone, local_us: bigint): bigint {
  if (zone.is_fixed) return local_us - BigInt(zone.eras[0].offset_s) * SECOND_US
  const guess = local_us - BigInt(offsetAtInstant(zone, local_us)) * SECOND_US
  const before = offsetAtInstant(zone, guess - DAY_US)
  const after = offsetAtInstant(zone, guess + DAY_US)
  if (before === after) return local_us - BigInt(before) * SECOND_US
  const early = local_us - BigInt(before) * SECOND_US
  if (offsetAtInstant(zone, early) === before) return early
  const late = local_us - BigInt(after) * SECOND_US
  return offsetAtInstant(zone, late) === after ? late : early
}

/** The same for a time that may be relative; valid until the offset changes. */
export function offsetAtTime(zone: Zone, time: TimeValue): number {
  narrowToEra(zone, time, () => 0n)
  return offsetAtInstant(zone, microsecondsOf(time))
}

/** The instant of a local time that may be relative; valid until shortly before the offset changes. */
export function instantOfTime(zone: Zone, local: TimeValue): TimeValue {
  const local_us = microsecondsOf(local)
  const instant = shiftBy(local, instantOfLocal(zone, local_us) - local_us)
  narrowToEra(zone, instant, (index) => ambiguityAround(zone, index))
  return instant
}

/** The distance from an era's start within which a local time may be ambiguous or missing. */
function ambiguityAround({ eras }: Zone, index: number): bigint {
  const [before, after] = [eras[index - 1], eras[index]]
  if (before === undefined || after === undefined) return 2n * DAY_US
  return 3n * BigInt(Math.abs(after.offset_s - before.offset_s)) * SECOND_US
}

/**
 * Narrows the window to the era, minus a margin at its ends; nearer to them, and where eras are
 * unknown, to this very time.
 */
function narrowToEra(zone: Zone, instant: TimeValue, marginOf: (index: number) => bigint): void {
  if (zone.is_fixed || typeof instant === 'bigint') return
  const index = zone.eras.findLastIndex((era) => era.from_us <= instant.us)
  const era = zone.eras[index]
  if (era === undefined) {
    pin(instant)
    return
  }
  const from_us = era.from_us + marginOf(index)
  const until_us = (zone.eras[index + 1]?.from_us ?? zone.until_us) - marginOf(index + 1)
  if (from_us <= instant.us && instant.us < until_us) narrowTo(instant, from_us, until_us)
  else pin(instant)
}

/** The local time (µs) from which the era's offset applies: the later of the two readings of the change. */
export function localStart(zone: Zone, index: number): bigint {
  const era = zone.eras[index]
  const before = zone.eras[index - 1]
  if (era === undefined) throw new Error(`zone ${zone.name} has no era ${index}`)
  const offset_s = Math.max(era.offset_s, before?.offset_s ?? era.offset_s)
  return era.from_us + BigInt(offset_s) * SECOND_US
}

/**
 * Whether every offset of the window is a multiple of `step_s`, so that truncating local time
 * equals truncating UTC.
 */
export function offsetsDivide(zone: Zone, step_s: number): boolean {
  return zone.eras.every((era) => era.offset_s % step_s === 0)
}
