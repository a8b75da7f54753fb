/** What was clicked, from the one-line form that is stored to the list that clients show, innermost first (wire §4.9). */

/** One element; what it does not have is null. */
export type ShownElement = {
  readonly text: string | null
  readonly tag_name: string | null
  readonly attr_class: readonly string[] | null
  readonly href: string | null
  readonly attr_id: string | null
  readonly nth_child: number | null
  readonly nth_of_type: number | null
  /** The others, named `attr__…`. */
  readonly attributes: Readonly<Record<string, string>>
  readonly order: number
}

/** Elements stand one after the other, `;` between them; quotes may hold anything. */
const ELEMENT = /(?:[^;"\\]|\\.|"(?:[^"\\]|\\.)*")+/g
/** Tag and classes end where attributes begin: classes may have colons of their own. */
const TAG = /^(.*?)(?::(?=[\w-]+=")|$)/s
const ATTRIBUTE = /([^\s="]+?)="((?:[^"\\]|\\.)*)"/g

/** The elements of a chain; an empty chain has none. */
export function readElements(chain: string): readonly ShownElement[] {
  return [...chain.matchAll(ELEMENT)].map(([text], order) => readElement(text, order))
}

function readElement(text: string, order: number): ShownElement {
  const [head = '', tag_and_classes = ''] = TAG.exec(text) ?? []
  const [tag_name = '', ...rest] = tag_and_classes.split('.')
  const classes = rest.filter((one) => one !== '')
  const pairs = [...text.slice(head.length).matchAll(ATTRIBUTE)].map(
    ([, name = '', value = '']) => [name, value.replaceAll(String.raw`\"`, '"')] as const,
  )
  const attributes = new Map(pairs)
  const numbered = (name: string): number | null => {
    const value = attributes.get(name)
    return value === undefined ? null : Number(value)
  }
  return {
    text: attributes.get('text') ?? null,
    tag_name: tag_name === '' ? null : tag_name,
    attr_class: classes.length === 0 ? null : classes,
    href: attributes.get('href') ?? null,
    attr_id: attributes.get('attr_id') ?? attributes.get('attr__id') ?? null,
    nth_child: numbered('nth-child'),
    nth_of_type: numbered('nth-of-type'),
    attributes: Object.fromEntries(pairs.filter(([name]) => name.startsWith('attr__'))),
    order,
  }
}
