/** Sizes of the properties of persons and groups, and their limits. */
import type { PersonProperties, PropertiesSize } from '../storage/persons/person-store.ts'
import { valueText } from './value-text.ts'

/** Limits of a person or a group. */
export type SizeLimits = {
  /** Bytes of the properties as JSON. */
  readonly bytes_max: number
  readonly properties_max: number
}

/** The size of properties after a change; the cost grows with the change only. */
export function sizeAfter(
  before: PropertiesSize,
  stored: PersonProperties,
  change: { readonly set: PersonProperties; readonly unset: ReadonlySet<string> },
): PropertiesSize {
  let { bytes, count } = before
  const subtract = (key: string): void => {
    if (!Object.hasOwn(stored, key)) return
    bytes -= memberBytes(key, stored[key])
    count -= 1
  }
  for (const key of Object.keys(change.set)) {
    if (change.unset.has(key)) continue
    subtract(key)
    bytes += memberBytes(key, change.set[key])
    count += 1
  }
  for (const key of change.unset) subtract(key)
  return { bytes, count }
}

/** Whether properties may become this large. A person that has more than the limit already may keep its number. */
export function fits(size: PropertiesSize, before: PropertiesSize, limits: SizeLimits): boolean {
  return (
    size.bytes <= limits.bytes_max && size.count <= Math.max(limits.properties_max, before.count)
  )
}

/** Bytes of a member in stored JSON, with its colon and a comma. */
function memberBytes(key: string, value: unknown): number {
  return Buffer.byteLength(JSON.stringify(key)) + Buffer.byteLength(valueText(value)) + 2
}
