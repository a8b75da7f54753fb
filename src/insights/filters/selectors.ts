/** CSS selectors as regular expressions over `elements_chain`, whose elements are ordered innermost first. */
import { type Refusal, refuseMember } from '../../errors.ts'

/** Maximum elements of a selector. */
const PARTS_MAX = 20
/** Maximum length of a selector. */
const LENGTH_MAX = 1000

/** `key="value"` as in the chain; inner quotes are escaped. */
const ATTRIBUTE = String.raw`[^";=]+="(?:[^"\\]|\\.)*"`
/** One whole element. */
const ELEMENT = String.raw`(?:[^;"]|"(?:[^"\\]|\\.)*")+`

/** The pieces of one compound selector: `a.button#buy[href="/x"]:nth-child(2)`. */
const PIECE =
  /^(?:(?<tag>[A-Za-z][\w-]*|\*)|\.(?<name>(?:\\.|[\w-])+)|#(?<id>(?:\\.|[\w-])+)|\[(?<key>[\w$-]+)(?:=(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>[^\]"']*)))?\]|:(?<nth>nth-child|nth-of-type)\((?<number>\d+)\))/

type SelectorPart = {
  tag: string | null
  readonly classes: string[]
  readonly attributes: Map<string, string | null>
}

/** The pattern of a tag anywhere in the chain. */
export function tagPattern(tag_name: string): string {
  return `(?:^|;)${escapePattern(tag_name)}(?:[.:;]|$)`
}

/** The pattern of a selector: the clicked element, or any around it. Refuses invalid selectors. */
export function selectorPattern(selector: string, attr: string): string {
  const parts = readSelector(selector, attr)
  // The chain begins with the innermost element, a selector ends with it.
  const patterns = parts.toReversed().map(({ part, is_child }, index) => {
    const outer = index === parts.length - 1 ? '' : is_child ? ';' : `;(?:${ELEMENT};)*`
    return partPattern(part) + outer
  })
  return `(?:^|;)${patterns.join('')}(?:;|$)`
}

function partPattern({ tag, classes, attributes }: SelectorPart): string {
  const class_patterns = classes
    .toSorted()
    .map((name) => String.raw`(?:[.:][^;"]*)?\.${escapePattern(name)}`)
  const attribute_patterns = [...attributes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `(?:${ATTRIBUTE})*${attributePattern(key, value)}`)
  const first = tag === null ? '[^;.:"]*' : escapePattern(tag)
  return String.raw`${first}${class_patterns.join('')}(?:[.:][^;"]*)?:${attribute_patterns.join('')}(?:${ATTRIBUTE})*`
}

function attributePattern(key: string, value: string | null): string {
  if (value === null) return String.raw`${escapePattern(key)}="(?:[^"\\]|\\.)*"`
  return `${escapePattern(key)}="${escapePattern(value.replaceAll('"', String.raw`\"`))}"`
}

/** A compound selector, whose brackets may contain blanks, or the child combinator. */
const STEP_OR_SIGN = />|(?:\[(?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^\]"'])*(?:\]|$)|[^\s>[])+/g

type NestedPart = { readonly part: SelectorPart; readonly is_child: boolean }

function readSelector(selector: string, attr: string): readonly NestedPart[] {
  const pieces = selector.slice(0, LENGTH_MAX + 1).match(STEP_OR_SIGN) ?? []
  const placed: NestedPart[] = []
  let is_child = false
  for (const piece of pieces) {
    if (piece === '>') {
      is_child = true
      continue
    }
    placed.push({ part: readPart(piece, selector, attr), is_child })
    is_child = false
  }
  const is_whole = placed.length > 0 && pieces[0] !== '>' && pieces.at(-1) !== '>'
  if (is_whole && placed.length <= PARTS_MAX && selector.length <= LENGTH_MAX) return placed
  throw noSelector(selector, attr)
}

function readPart(text: string, selector: string, attr: string): SelectorPart {
  const part: SelectorPart = { tag: null, classes: [], attributes: new Map() }
  for (let rest = text; rest !== ''; ) {
    const match = PIECE.exec(rest)
    if (match === null || match[0] === '') throw noSelector(selector, attr)
    addPiece(part, match.groups ?? {})
    rest = rest.slice(match[0].length)
  }
  return part
}

/** Attributes with their own key in the chain; others are `attr__name`. */
const KEYS: ReadonlyMap<string, string> = new Map([
  ['href', 'href'],
  ['id', 'attr_id'],
  ['text', 'text'],
])

function addPiece(part: SelectorPart, groups: Readonly<Record<string, string | undefined>>): void {
  const { tag, name, id, key, double, single, bare, nth, number } = groups
  if (tag !== undefined) part.tag = tag === '*' ? null : tag
  if (name !== undefined) part.classes.push(name.replaceAll(/\\(.)/g, '$1'))
  if (id !== undefined) part.attributes.set('attr_id', id.replaceAll(/\\(.)/g, '$1'))
  if (nth !== undefined) part.attributes.set(nth, number ?? '1')
  if (key !== undefined) {
    part.attributes.set(KEYS.get(key) ?? `attr__${key}`, double ?? single ?? bare ?? null)
  }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
}

function noSelector(selector: string, attr: string): Refusal {
  const detail = `Not a selector: ${JSON.stringify(selector.slice(0, 100))}`
  return refuseMember(detail, attr)
}
