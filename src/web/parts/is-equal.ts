/** Comparing two values of JSON by their content. */

/** Whether two values are the same, whatever the order of their members. */
export function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one, sortMembers) === JSON.stringify(other, sortMembers)
}

function sortMembers(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}
