/** Sanitizes markup in surveys, so that nothing in it can act on the page that shows it. */
import { FilterXSS } from 'xss'

/** Elements that only format text. */
const ELEMENTS =
  'a abbr acronym area article aside b bdi bdo blockquote br caption center cite code col colgroup data dd del details dfn div dl dt ' +
  'em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li map mark nav ol p pre q rp rt rtc ruby s samp ' +
  'small span strike strong sub summary sup table tbody td th thead time tr tt u ul var wbr'

/** Elements that are removed with their content: it is no text of the page, or means something else outside of them. */
const REMOVED_ELEMENTS =
  'script style iframe math noembed noframes noscript object plaintext svg template textarea title xmp'

const COMMON_ATTRIBUTES: readonly string[] = ['style', 'lang', 'title', 'width', 'height']

const OWN_ATTRIBUTES: ReadonlyMap<string, readonly string[]> = new Map([
  ['a', ['href', 'hreflang', 'target']],
  ['img', ['src', 'alt']],
])

const OPTIONS = {
  whiteList: Object.fromEntries(
    ELEMENTS.split(' ').map((name) => [
      name,
      [...COMMON_ATTRIBUTES, ...(OWN_ATTRIBUTES.get(name) ?? [])],
    ]),
  ),
  stripIgnoreTag: true,
  stripIgnoreTagBody: REMOVED_ELEMENTS.split(' '),
}

/** A `<` that begins no tag, as in "1 < 2"; browsers show it. */
const BARE_SIGN = /<(?![a-z!/?])/gi
const TAG_START = /<[a-z!/?]/i

/** The most characters of texts with markup that one cleaner accepts; 1 µs each. */
const CHARS_MAX = 50_000
/**
 * Limit for the sanitizer's quadratic part: it walks a whole tag again for each blank in it, 50 ns per
 * character. The sum over tags of blanks times length, about 100 tags of 300 characters with 30 blanks.
 */
const BLANK_STEPS_MAX = 1_000_000

/** Thrown for more markup than a cleaner accepts; `message` is shown to callers. */
export class TooMuchMarkup extends Error {
  override readonly name = 'TooMuchMarkup'
}

/** Sanitizes the texts of one object within one budget. */
export class MarkupCleaner {
  #chars = 0
  #blank_steps = 0
  readonly #filter = new FilterXSS({
    ...OPTIONS,
    onTag: (_name, tag) => this.#countBlanks(tag),
  })

  /** Returns the text with harmless markup only; other text is unchanged. Throws TooMuchMarkup. */
  clean(text: string): string {
    if (!TAG_START.test(text)) return text
    this.#chars += text.length
    if (this.#chars > CHARS_MAX) {
      throw new TooMuchMarkup(
        `Texts with markup may have ${CHARS_MAX} characters together, and this is more.`,
      )
    }
    return this.#filter.process(text.replaceAll(BARE_SIGN, '&lt;'))
  }

  /** Called before the attributes of a tag are parsed. */
  #countBlanks(tag: string): void {
    this.#blank_steps += (tag.match(/\s/g)?.length ?? 0) * tag.length
    if (this.#blank_steps <= BLANK_STEPS_MAX) return
    throw new TooMuchMarkup('The markup has too many or too long attributes.')
  }
}
