/** Instants to the clock of a zone and back, as expressions: bound constants move here, columns by a CASE over the zone's offsets. */

import type { CompileContext } from './context.ts'
import type { ClockOf, Expr, Instant } from './ir.ts'
import { bind, bindInt, bindText, sql } from './spell.ts'
import { DATE, dateTimeType, INT64, type Type, withNull } from './types.ts'
import {
  type Era,
  findZone,
  instantOfLocal,
  localStart,
  offsetAtInstant,
  offsetsDivide,
  type Zone,
} from './zones.ts'

export const DAY_US = 86_400_000_000n

/** The clock of the expression's zone: a naive timestamp that only lives inside other expressions. */
export function toLocal(instant: Expr, context: CompileContext): Expr {
  const { type } = instant
  if (type.kind !== 'datetime') return instant
  if (instant.kind === 'instant') return instant.local
  const zone = findZone(type.timezone, context.now_us)
  if (isUtc(zone)) return instant
  if (instant.kind === 'value') {
    if (typeof instant.value !== 'bigint') return instant
    return bind(instant.value + BigInt(offsetAtInstant(zone, instant.value)) * 1_000_000n, type)
  }
  return { kind: 'clock', of: instant, type }
}

/** Instants outside `from_us` … `until_us` need not be right: something else keeps their rows away. */
type Within = { readonly from_us: bigint | null; readonly until_us: bigint | null }

/** Spells what a clock shows: by CASE around now, by the engine's ICU far from it. */
export function spellClock(
  { of, type }: ClockOf,
  context: CompileContext,
  within: Within | null = null,
): Expr {
  if (type.kind !== 'datetime') throw new Error('a clock shows a datetime')
  const zone = findZone(type.timezone, context.now_us)
  return readOnce(of, (at) => addOffset(at, zone, within ?? { from_us: null, until_us: null }))
}

/** The instant at which the zone's clock shows a local time. */
export function fromLocal(local: Expr, timezone: string, context: CompileContext): Expr {
  const zone = findZone(timezone, context.now_us)
  const type = withNull(dateTimeType(timezone), local.type.nullable)
  if (local.kind === 'value' && typeof local.value === 'bigint') {
    return bind(instantOfLocal(zone, local.value), type)
  }
  if (isUtc(zone)) return { ...local, type }
  return { kind: 'instant', local, type }
}

/** Spells an instant given by its local time, the same way back. */
export function spellInstant(instant: Instant, context: CompileContext): Expr {
  const { local, type } = instant
  if (type.kind !== 'datetime') throw new Error('an instant is a datetime')
  const zone = findZone(type.timezone, context.now_us)
  return readOnce(local, (at) => subtractOffset(at, zone, type))
}

/** The offset in seconds that the clock of an instant's zone has then. */
export function offsetOf(instant: Expr, context: CompileContext): Expr {
  const type = withNull(INT64, instant.type.nullable)
  return sql`epoch(${toLocal(instant, context)} - ${instant})::BIGINT`(type)
}

/** Whether cutting UTC time into steps of `step_s` seconds gives the same as cutting the zone's local time. */
export function cutsInUtc(timezone: string, step_s: number, context: CompileContext): boolean {
  const zone = findZone(timezone, context.now_us)
  return isUtc(zone) || (step_s <= 3600 && offsetsDivide(zone, step_s))
}

/** Midnight that begins a date, in a zone, as an instant. */
export function startOfDate(date: Expr, timezone: string, context: CompileContext): Expr {
  const type = withNull(dateTimeType(timezone), date.type.nullable)
  if (date.kind === 'value' && typeof date.value === 'bigint') {
    return fromLocal(bind(date.value * DAY_US, type), timezone, context)
  }
  return fromLocal(sql`(${date})::TIMESTAMP`(type), timezone, context)
}

/** The local date of an instant. */
export function dateOf(instant: Expr, context: CompileContext): Expr {
  const local = toLocal(instant, context)
  const type = withNull(DATE, instant.type.nullable)
  if (local.kind === 'value' && typeof local.value === 'bigint') {
    const short = local.value % DAY_US < 0n ? 1n : 0n
    return bind(local.value / DAY_US - short, type)
  }
  return sql`(${local})::DATE`(type)
}

function isUtc(zone: Zone): boolean {
  return zone.fixed && zone.eras[0].offset_s === 0
}

/** A CASE reads its argument many times; anything but a column is put into a one-element list first. */
function readOnce(expr: Expr, build: (at: Expr) => Expr): Expr {
  if (expr.kind === 'column' || expr.kind === 'local') return build(expr)
  // Number 0 is free: parameters of user lambdas count from 1, and these lambdas never nest.
  const at: Expr = { kind: 'local', id: 0, type: expr.type }
  const body = build(at)
  return sql`list_transform([${expr}], lambda ${at}: ${body})[1]`(body.type)
}

function addOffset(at: Expr, zone: Zone, { from_us, until_us }: Within): Expr {
  const { type } = at
  const shifted = (era: Era): Expr => sql`(${at} + to_seconds(${offset(era.offset_s)}))`(type)
  if (zone.fixed) return shifted(zone.eras[0])
  const outside = sql`timezone(${bindText(zone.name)}, timezone('UTC', ${at}))`(type)
  const from_inside = from_us !== null && from_us >= zone.eras[0].from_us
  const until_inside = until_us !== null && until_us <= zone.until_us
  const eras = zone.eras.filter((era, index) => {
    const end_us = zone.eras[index + 1]?.from_us ?? zone.until_us
    return (from_us === null || end_us > from_us) && (until_us === null || era.from_us < until_us)
  })
  const [oldest, ...newer] = eras
  if (oldest === undefined) return outside
  const eldest = from_inside
    ? sql`ELSE ${shifted(oldest)}`(type)
    : sql`WHEN ${at} >= ${bind(oldest.from_us, type)} THEN ${shifted(oldest)} ELSE ${outside}`(type)
  if (newer.length === 0 && from_inside && until_inside) return shifted(oldest)
  let chain: Expr = eldest
  for (const era of newer) {
    chain = sql`WHEN ${at} >= ${bind(era.from_us, type)} THEN ${shifted(era)} ${chain}`(type)
  }
  if (until_inside) return sql`CASE ${chain} END`(type)
  return sql`CASE WHEN ${at} >= ${bind(zone.until_us, type)} THEN ${outside} ${chain} END`(type)
}

function subtractOffset(at: Expr, zone: Zone, type: Type): Expr {
  if (zone.fixed) return sql`(${at} - to_seconds(${offset(zone.eras[0].offset_s)}))`(type)
  const outside = sql`timezone('UTC', timezone(${bindText(zone.name)}, ${at}))`(type)
  let chain: Expr = sql`ELSE ${outside}`(type)
  for (const [index, era] of zone.eras.entries()) {
    const shifted = sql`${at} - to_seconds(${offset(era.offset_s)})`(type)
    chain = sql`WHEN ${at} >= ${bind(localStart(zone, index), type)} THEN ${shifted} ${chain}`(type)
  }
  const until = bind(zone.until_us, type)
  return sql`CASE WHEN ${at} >= ${until} THEN ${outside} ${chain} END`(type)
}

function offset(offset_s: number): Expr {
  return bindInt(offset_s, true)
}
