/** Pagination by `limit` and `offset`, with the addresses of the neighbouring pages. */

import { Refusal } from '../../errors.ts'
import { pathOf, queryOf } from '../addresses.ts'
import { answerResults } from './answers.ts'

const LIMIT_DEFAULT = 100

/** The requested part of a list. */
export type PageRequest = { readonly limit: number; readonly offset: number }

/** Reads the requested page; a value that is no number means the default, as clients expect. */
export function readPage(
  request: Request,
  { limit_default = LIMIT_DEFAULT, limit_max = Infinity } = {},
): PageRequest {
  const query = new URLSearchParams(queryOf(request.url))
  return {
    limit: Math.min(wholeNumber(query.get('limit')) || limit_default, limit_max),
    offset: wholeNumber(query.get('offset')),
  }
}

/**
 * Answers with one page of a list that is in memory as a whole. `public_url` is the server's address for
 * clients; `onWire` serializes an item, and runs for the items of this page only.
 */
export function answerPage<Item>(
  request: Request,
  public_url: string,
  items: readonly Item[],
  onWire: (item: Item) => unknown = (item) => item,
  limit_default = LIMIT_DEFAULT,
): Promise<Response> {
  const page = readPage(request, { limit_default })
  const count = items.length
  const has_more = page.offset + page.limit < count
  const head = { count, ...neighbourPages(request, public_url, { ...page, has_more }) }
  return answerResults(head, items.slice(page.offset, page.offset + page.limit), onWire)
}

/** The addresses of the next and the previous page; null where there is none. */
export function neighbourPages(
  request: Request,
  public_url: string,
  { limit, offset, has_more }: PageRequest & { readonly has_more: boolean },
): { readonly next: string | null; readonly previous: string | null } {
  const address = (at: number): string => pageAddress(request, public_url, { at, limit })
  return {
    next: has_more ? address(offset + limit) : null,
    previous: offset > 0 ? address(Math.max(0, offset - limit)) : null,
  }
}

/** Builds the address of the page that starts at item `at`; other parameters are preserved. */
export function pageAddress(
  request: Request,
  public_url: string,
  { at, limit }: { readonly at: number; readonly limit: number },
): string {
  const query = new URLSearchParams(queryOf(request.url))
  query.set('limit', String(limit))
  if (at > 0) query.set('offset', String(at))
  else query.delete('offset')
  return `${public_url}${pathOf(request.url)}?${query.toString()}`
}

/** Returns one query parameter; null when it is missing. */
export function queryValue(request: Request, name: string): string | null {
  const query = queryOf(request.url)
  return query === '' ? null : new URLSearchParams(query).get(name)
}

/** Returns the number of an object in a query parameter; null when it is missing or empty. Refuses anything else. */
export function queryId(request: Request, name: string): number | null {
  const text = queryValue(request, name)
  if (text === null || text === '') return null
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new Refusal('invalid_input', 'A valid integer is required.', { attr: name })
}

/**
 * As long as a distinct id. Longer needles are searched for in quadratic time: one of 8,000 characters in a text of a
 * megabyte held the main thread for 2.5 s.
 */
const SEARCH_LENGTH_MAX = 400

/** Reads the parameter `search`, '' when it is missing. Refuses a long one (`invalid_input`). */
export function readSearch(request: Request): string {
  return requireSearch(queryValue(request, 'search') ?? '')
}

/** Returns a text to search for. Refuses a long one, and names the parameter `search`. */
export function requireSearch(text: string): string {
  if (text.length <= SEARCH_LENGTH_MAX) return text
  const detail = `A search has at most ${SEARCH_LENGTH_MAX} characters.`
  throw new Refusal('invalid_input', detail, { attr: 'search' })
}

/** Returns all query parameters; the last of repeated ones counts. */
export function queryValues(request: Request): Readonly<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(queryOf(request.url)))
}

function wholeNumber(text: string | null): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : 0
}
