/** Lists, a page at a time: `limit`, `offset`, and addresses of the neighbouring pages. */

import { pathOf, queryOf } from './addresses.ts'
import { answerJson } from './answers.ts'

const LIMIT_DEFAULT = 100

/** Which part of a list was asked for. */
export type PageRequest = { readonly limit: number; readonly offset: number }

/** Reads the page that a request asks for; what is no number means the default, as clients expect. */
export function readPage(request: Request): PageRequest {
  const query = new URLSearchParams(queryOf(request.url))
  return {
    limit: wholeNumber(query.get('limit')) || LIMIT_DEFAULT,
    offset: wholeNumber(query.get('offset')),
  }
}

/**
 * Answers with one page of a list that is at hand as a whole. `public_url` is what clients call us; `onWire` makes of
 * an item what is answered, for the items of this page only.
 */
export function answerPage<Item>(
  request: Request,
  public_url: string,
  items: readonly Item[],
  onWire: (item: Item) => unknown = (item) => item,
): Response {
  const { limit, offset } = readPage(request)
  const address = (at: number): string => pageAddress(request, public_url, { at, limit })
  return answerJson({
    count: items.length,
    next: offset + limit < items.length ? address(offset + limit) : null,
    previous: offset > 0 ? address(Math.max(0, offset - limit)) : null,
    results: items.slice(offset, offset + limit).map(onWire),
  })
}

/** The address of the page that starts `at` an item; other parameters are kept. */
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

/** One query parameter of a request; null when it is not there. */
export function queryValue(request: Request, name: string): string | null {
  return new URLSearchParams(queryOf(request.url)).get(name)
}

/** All query parameters of a request; of a repeated one the last counts. */
export function queryValues(request: Request): Readonly<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(queryOf(request.url)))
}

function wholeNumber(text: string | null): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : 0
}
