/** How large the properties of a person or a group are, and may become. */
import type { PersonProperties, PropertiesSize } from '../storage/persons/person-store.ts'

/** What a person or a group may hold. */
export type SizeLimits = {
  /** Bytes of its properties as JSON. */
  readonly bytes_max: number
  readonly properties_max: number
}

/** The size of properties after a change, at the cost of the change. */
export function sizeAfter(
  before: PropertiesSize,
  stored: PersonProperties,
  change: { readonly set: PersonProperties; readonly gone: ReadonlySet<string> },
): PropertiesSize {
  let { bytes, count } = before
  const leave = (key: string): void => {
    if (!Object.hasOwn(stored, key)) return
    bytes -= memberBytes(key, stored[key])
    count -= 1
  }
  for (const key of Object.keys(change.set)) {
    if (change.gone.has(key)) continue
    leave(key)
    bytes += memberBytes(key, change.set[key])
    count += 1
  }
  for (const key of change.gone) leave(key)
  return { bytes, count }
}

/** Whether properties may become this large. A person with more than allowed, from earlier, may keep as many. */
export function fits(size: PropertiesSize, before: PropertiesSize, limits: SizeLimits): boolean {
  return (
    size.bytes <= limits.bytes_max && size.count <= Math.max(limits.properties_max, before.count)
  )
}

/** Bytes that a member takes up in stored JSON, with its colon and a comma. */
function memberBytes(key: string, value: unknown): number {
  return Buffer.byteLength(JSON.stringify(key)) + Buffer.byteLength(JSON.stringify(value) ?? '') + 2
}
