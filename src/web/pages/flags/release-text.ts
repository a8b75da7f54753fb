/** The release of a flag in a few words: its persons or groups, and its variants. */
import { conditionText, isCondition } from '../../parts/filters/conditions.ts'
import { type DraftCondition, type DraftedFlag, ownerOf } from './flag-draft.ts'

/** `Everyone`, `33% of persons`, `Plan is pro: 50%`, `3 conditions`, with the names of the variants. */
export function releaseText({ conditions, variants, group_type }: DraftedFlag): string {
  const [first, ...others] = conditions
  const release =
    first === undefined
      ? 'Nobody'
      : others.length > 0
        ? `${conditions.length} conditions`
        : oneText(first, ownerOf(first, group_type) === null ? 'persons' : 'groups')
  if (variants.length === 0) return release
  return `${release} · ${variants.map(({ key }) => key).join(', ')}`
}

function oneText({ properties, share }: DraftCondition, who: string): string {
  const percent = share === '' ? 100 : Number(share)
  if (percent === 0) return 'Nobody'
  const [first, ...others] = properties
  if (first === undefined) {
    if (percent < 100) return `${share}% of ${who}`
    return who === 'persons' ? 'Everyone' : 'All groups'
  }
  const text = propertyText(first)
  const more = others.length === 0 ? text : `${text} and ${others.length} more`
  return percent < 100 ? `${more}: ${share}%` : more
}

/** A property in words; one that the page cannot edit, such as another flag's value, too. */
export function propertyText(property: unknown): string {
  if (isCondition(property)) return conditionText(property)
  const { type, key, value } = Object(property) as Readonly<Record<string, unknown>>
  if (type === 'flag') return `Flag ${String(key)} is ${String(value)}`
  return JSON.stringify(property)
}
