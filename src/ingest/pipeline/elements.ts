/** Autocapture elements: the `$elements` list (innermost first) → the elements chain, one text that queries search. */
import { numberOf } from '../../json.ts'
import { addWarning, type EventDraft } from './event-draft.ts'

const TEXT_LENGTH_MAX = 400
const HREF_LENGTH_MAX = 2048
/** Characters of a chain; SDKs send a few thousand. Queries read whole chains. */
export const CHAIN_LENGTH_MAX = 100_000

type ClickedElement = { readonly [name: string]: unknown }

/** Moves `$elements` or a ready `$elements_chain` out of the properties into its own column. */
export function flattenElements(draft: EventDraft): null {
  const { properties, sent } = draft
  const ready = properties['$elements_chain']
  const elements = properties['$elements'] ?? sent['$elements']
  if (typeof ready === 'string') draft.elements_chain = ready
  else if (Array.isArray(elements)) draft.elements_chain = elementsChain(elements)
  if (draft.elements_chain.length > CHAIN_LENGTH_MAX) cutChain(draft)
  if (typeof ready === 'string') delete properties['$elements_chain']
  if (Array.isArray(properties['$elements'])) delete properties['$elements']
  return null
}

/** Cuts the chain at an element's end; the innermost elements stay. */
function cutChain(draft: EventDraft): void {
  const { elements_chain, distinct_id, event } = draft
  const end = elements_chain.lastIndexOf(';', CHAIN_LENGTH_MAX)
  draft.elements_chain = elements_chain.slice(0, end === -1 ? CHAIN_LENGTH_MAX : end).toWellFormed()
  addWarning(draft, {
    type: 'elements_chain_size_violation',
    key: distinct_id,
    details: { event, distinct_id, length: elements_chain.length },
  })
}

/** A list of elements as text: `tag.class:key="value"…;tag…`, classes and keys in alphabetical order. */
export function elementsChain(elements: readonly unknown[]): string {
  return elements.filter(isElement).map(elementText).join(';')
}

function elementText(element: ClickedElement): string {
  const tag = typeof element['tag_name'] === 'string' ? element['tag_name'] : ''
  const classes = classesOf(element)
    .toSorted()
    .map((name) => `.${name.replaceAll('"', '')}`)
    .join('')
  const attributes = [...attributesOf(element)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}="${value.replaceAll('"', '\\"')}"`)
    .join('')
  return `${tag}${classes}:${attributes}`
}

function attributesOf(element: ClickedElement): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>()
  const text = element['$el_text'] ?? element['text']
  if (typeof text === 'string' && text !== '') {
    attributes.set('text', text.slice(0, TEXT_LENGTH_MAX).toWellFormed())
  }
  attributes.set('nth-child', String(numberOf(element['nth_child'] ?? 0)))
  attributes.set('nth-of-type', String(numberOf(element['nth_of_type'] ?? 0)))
  const href = element['attr__href'] ?? element['href']
  if (typeof href === 'string') {
    attributes.set('href', href.slice(0, HREF_LENGTH_MAX).toWellFormed())
  }
  const id = element['attr__id'] ?? element['attr_id']
  if (typeof id === 'string') attributes.set('attr_id', id)
  for (const [key, value] of Object.entries(element)) {
    if (key.startsWith('attr__') && value !== null) {
      attributes.set(key, typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
    }
  }
  return attributes
}

function classesOf(element: ClickedElement): readonly string[] {
  const classes = element['attr__class'] ?? element['attr_class']
  if (typeof classes === 'string') return classes.split(/\s+/).filter((name) => name !== '')
  if (!Array.isArray(classes)) return []
  return classes.filter((name) => typeof name === 'string' && name !== '')
}

function isElement(element: unknown): element is ClickedElement {
  return typeof element === 'object' && element !== null && !Array.isArray(element)
}
