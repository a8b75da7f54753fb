/** Events and properties in words, for their lists. */
import type { ShownDefinition } from '../../api/types/shown-definition.ts'

/** A name that can be seen and distinguished from others: in quotes where it begins or ends with blanks. */
export const visibleName = (title: string): string =>
  title === '' || title !== title.trim() ? JSON.stringify(title) : title

/** The line below a name: the name as it is sent where its title is another, the description, the tags. */
export function aboutText({ name, description, tags }: ShownDefinition, title: string): string {
  const parts = [title === name ? '' : name, description ?? '', tags.join(', ')]
  return parts.filter((part) => part !== '').join(' · ')
}

/** `verified, hidden`; '' for neither. */
export const marksText = ({ verified, hidden }: ShownDefinition): string =>
  [verified ? 'verified' : '', hidden ? 'hidden' : ''].filter((mark) => mark !== '').join(', ')

/** PROPERTY_TYPES: the types with which values are read. */
export const PROPERTY_TYPES = [
  { value: 'String', text: 'Text' },
  { value: 'Numeric', text: 'Number' },
  { value: 'Boolean', text: 'Yes or no' },
  { value: 'DateTime', text: 'Date and time' },
] as const

/** `Numeric` → `Number`. */
export const typeText = (property_type: string | null): string =>
  PROPERTY_TYPES.find(({ value }) => value === property_type)?.text ?? 'Not known yet'

/** The address of a trend of 30 days by day. */
export function exploreHref(members: object): string {
  const range = { dateRange: { date_from: '-30d' }, interval: 'day' }
  return `/explore#q=${encodeURIComponent(JSON.stringify({ kind: 'TrendsQuery', ...members, ...range }))}`
}
