/** Lengths of time: milliseconds and seconds as numbers, microseconds as bigints. */

export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

export const HOUR_S = 3600
export const DAY_S = 24 * HOUR_S

export const US_PER_MS = 1000
export const US_PER_DAY = US_PER_MS * DAY_MS

export const SECOND_US = 1_000_000n
export const DAY_US = 86_400n * SECOND_US

/** The first instant of the year 1, and the first one after the year 9999: clients read no others. Microseconds since 1970. */
export const FIRST_INSTANT_US = -62_135_596_800n * SECOND_US
export const END_INSTANT_US = 253_402_300_800n * SECOND_US

/** The nearest instant of the years 1 to 9999, as ClickHouse saturates at the ends of its types. Microseconds since 1970. */
export function saturateInstant(us: bigint): bigint {
  if (us < FIRST_INSTANT_US) return FIRST_INSTANT_US
  return us < END_INSTANT_US ? us : END_INSTANT_US - 1n
}

/** The nearest day of the years 1 to 9999, in days since 1970. */
export function saturateDay(days: number): number {
  return Math.min(
    Math.max(days, Number(FIRST_INSTANT_US / DAY_US)),
    Number(END_INSTANT_US / DAY_US) - 1,
  )
}
