/** Lengths of time: milliseconds and seconds as numbers, microseconds as bigints. */

export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

export const HOUR_S = 3600
export const DAY_S = 24 * HOUR_S

export const US_PER_MS = 1000

export const SECOND_US = 1_000_000n
export const DAY_US = 86_400n * SECOND_US
