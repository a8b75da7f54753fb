/** Markup in what surveys ask: what may stand in it, so that nothing in it can act on the page that shows it. */

/** Elements that only say how text looks. */
const ELEMENTS: ReadonlySet<string> = new Set(
  (
    'a abbr acronym area article aside b bdi bdo blockquote br caption center cite code col colgroup data dd del details dfn div dl dt ' +
    'em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li map mark nav ol p pre q rp rt rtc ruby s samp ' +
    'small span strike strong sub summary sup table tbody td th thead time tr tt u ul var wbr'
  ).split(' '),
)

/** Elements whose content is not text of the page, or would be read otherwise without them. */
const WHOLE: ReadonlySet<string> = new Set(
  'script style iframe math noembed noframes noscript object plaintext svg template textarea title xmp'.split(
    ' ',
  ),
)

const EVERYWHERE: readonly string[] = ['style', 'lang', 'title', 'width', 'height']

const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  a: ['href', 'hreflang', 'target'],
  img: ['src', 'alt'],
}

/** Where links and images may point, by what stands before the first slash, question mark or hash. */
const ADDRESS = /^(?:(?:https?|mailto|tel):[^&]*|[^:&]*)$/i

/** What is taken away may leave behind what was no markup before: it is looked at until nothing changes. */
const LOOKS_MAX = 5

/** The text with nothing in it but harmless markup. What is no markup stays as it is. */
export function cleanMarkup(text: string): string {
  if (!/<[a-z!/?]/i.test(text)) return text
  let clean = text
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const cleaner = cleanOnce(clean)
    if (cleaner === clean) return clean
    clean = cleaner
  }
  return clean.replaceAll('<', '&lt;')
}

function cleanOnce(text: string): string {
  // A tag that does not end would end somewhere in the page around it.
  const ended = text.replace(/<(?=[^>]*$)(?=[a-z!/?])/gi, '&lt;')
  return new HTMLRewriter()
    .on('*', { element: cleanElement })
    .onDocument({
      comments: (comment) => {
        comment.remove()
      },
      doctype: (doctype) => {
        doctype.remove()
      },
    })
    .transform(ended)
}

function cleanElement(element: HTMLRewriterTypes.Element): void {
  const name = element.tagName.toLowerCase()
  if (!ELEMENTS.has(name)) {
    if (WHOLE.has(name)) element.remove()
    else element.removeAndKeepContent()
    return
  }
  const allowed = new Set([...EVERYWHERE, ...(ATTRIBUTES[name] ?? [])])
  // All are read before one is taken away.
  const attributes = Array.from(element.attributes)
  for (const [attribute = '', value = ''] of attributes) {
    const is_address = attribute === 'href' || attribute === 'src'
    // Browsers read over blanks and control characters in a scheme, and may read it in entities.
    const address = value.replaceAll(/[\s\p{Cc}]/gu, '')
    const is_kept =
      allowed.has(attribute) && (!is_address || ADDRESS.test(address.replace(/[/?#].*$/s, '')))
    if (!is_kept) element.removeAttribute(attribute)
  }
  if (name === 'a' && element.getAttribute('rel') !== LINK_REL)
    element.setAttribute('rel', LINK_REL)
}

const LINK_REL = 'noopener'
