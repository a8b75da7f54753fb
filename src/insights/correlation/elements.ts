/** A chain of elements as it is stored, read into what readers show: the element that was clicked, and those around it. */

/** One element; what it does not have is null. */
export type ShownElement = {
  readonly tag_name: string
  readonly text: string | null
  readonly href: string | null
  readonly attr_class: readonly string[]
  readonly attr_id: string | null
  readonly nth_child: number | null
  readonly nth_of_type: number | null
  readonly attributes: Readonly<Record<string, string>>
  readonly order: number
}

/** Elements stand one after the other, `;` between them; quotes may hold anything. */
const ELEMENT = /(?:[^;"\\]|\\.|"(?:[^"\\]|\\.)*")+/g
const ATTRIBUTE = /([^\s="]+?)="((?:[^"\\]|\\.)*)"/g

/** Reads a chain; the innermost element comes first. */
export function readElements(chain: string): readonly ShownElement[] {
  return [...chain.matchAll(ELEMENT)].map(([text], order) => readElement(text, order))
}

function readElement(text: string, order: number): ShownElement {
  const colon = text.indexOf(':')
  const [tag_name = '', ...attr_class] = (colon < 0 ? text : text.slice(0, colon)).split('.')
  const found = [...(colon < 0 ? '' : text.slice(colon + 1)).matchAll(ATTRIBUTE)]
  const attributes = Object.fromEntries(
    found.map(([, name = '', value = '']) => [name, value.replaceAll('\\"', '"')]),
  )
  const numbered = (name: string): number | null => {
    const value = attributes[name]
    return value === undefined ? null : Number(value)
  }
  return {
    tag_name,
    text: attributes['text'] ?? null,
    href: attributes['href'] ?? null,
    attr_class,
    attr_id: attributes['attr_id'] ?? attributes['attr__id'] ?? null,
    nth_child: numbered('nth-child'),
    nth_of_type: numbered('nth-of-type'),
    attributes,
    order,
  }
}
