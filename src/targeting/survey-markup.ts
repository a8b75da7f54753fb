/** Markup in what surveys ask: what may stand in it, so that nothing in it can act on the page that shows it. */
import { FilterXSS } from 'xss'

/** Elements that only say how text looks. */
const ELEMENTS =
  'a abbr acronym area article aside b bdi bdo blockquote br caption center cite code col colgroup data dd del details dfn div dl dt ' +
  'em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li map mark nav ol p pre q rp rt rtc ruby s samp ' +
  'small span strike strong sub summary sup table tbody td th thead time tr tt u ul var wbr'

/** Elements whose content is not text of the page, or would be read otherwise without them. */
const WHOLE =
  'script style iframe math noembed noframes noscript object plaintext svg template textarea title xmp'

const EVERYWHERE: readonly string[] = ['style', 'lang', 'title', 'width', 'height']

const ATTRIBUTES: ReadonlyMap<string, readonly string[]> = new Map([
  ['a', ['href', 'hreflang', 'target']],
  ['img', ['src', 'alt']],
])

const FILTER = new FilterXSS({
  whiteList: Object.fromEntries(
    ELEMENTS.split(' ').map((name) => [name, [...EVERYWHERE, ...(ATTRIBUTES.get(name) ?? [])]]),
  ),
  stripIgnoreTag: true,
  stripIgnoreTagBody: WHOLE.split(' '),
})

/** A sign that begins no tag, as in "1 < 2": browsers show it. */
const BARE_SIGN = /<(?![a-z!/?])/gi
const TAG_START = /<[a-z!/?]/i

/** The text with nothing in it but harmless markup. What is no markup stays as it is. */
export function cleanMarkup(text: string): string {
  return TAG_START.test(text) ? FILTER.process(text.replaceAll(BARE_SIGN, '&lt;')) : text
}
