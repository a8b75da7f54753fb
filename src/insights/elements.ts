/** What was clicked, from the one-line form that is stored to the list that clients show, innermost first (wire §4.9). */

/** `tag.class` and what follows up to the `;` after the last quoted value. */
const ELEMENT = /((?:[^;"\\]|"(?:[^"\\]|\\.)*")+)/g
const ATTRIBUTE = /([\w$-]+)="((?:[^"\\]|\\.)*)"/g

/** The elements of a chain; an empty chain has none. */
export function elementsOnWire(chain: string): readonly object[] {
  return [...chain.matchAll(ELEMENT)].map(([text], index) => elementOf(text, index))
}

function elementOf(text: string, position: number): object {
  const colon = text.indexOf(':')
  const [tag_name = '', ...classes] = (colon === -1 ? text : text.slice(0, colon)).split('.')
  const pairs = [...text.slice(colon + 1).matchAll(ATTRIBUTE)].map(
    ([, name = '', value = '']) => [name, value.replaceAll(String.raw`\"`, '"')] as const,
  )
  const attributes = new Map(pairs)
  const number = (name: string): number | null => {
    const value = attributes.get(name)
    return value === undefined ? null : Number(value)
  }
  return {
    text: attributes.get('text') ?? null,
    tag_name: tag_name === '' ? null : tag_name,
    attr_class: classes.length === 0 ? null : classes,
    href: attributes.get('href') ?? null,
    attr_id: attributes.get('attr_id') ?? null,
    nth_child: number('nth-child'),
    nth_of_type: number('nth-of-type'),
    attributes: Object.fromEntries(pairs.filter(([name]) => name.startsWith('attr__'))),
    order: position,
  }
}
