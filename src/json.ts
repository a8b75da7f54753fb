/** JSON values whose shape is not known yet. */

/** True for an object: no array, and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A number as `Number` reads it; NaN for objects and lists: `Number` calls their member `valueOf`, whatever was sent there. */
export function numberOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Number.NaN : Number(value)
}
