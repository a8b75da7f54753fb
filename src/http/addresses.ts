/** Splits request addresses as text: a hostile Host header makes `new URL` throw. */

/** Returns the path without the query string, because clients put tokens and events there. */
export function pathOf(url: string): string {
  const start = pathStart(url)
  const end = url.indexOf('?', start)
  return end === -1 ? url.slice(start) : url.slice(start, end)
}

/** Returns the text after `?`, still percent-encoded; '' without one. */
export function queryOf(url: string): string {
  const mark = url.indexOf('?')
  return mark === -1 ? '' : url.slice(mark + 1)
}

/** The path that browsers find in front of ours: '' for most public URLs, `/tidemark` of `https://www.example.com/tidemark`. */
export const basePathOf = (public_url: string): string => pathOf(public_url)

/** The path with its query string, still percent-encoded. */
export const pathAndQueryOf = (url: string): string => url.slice(pathStart(url)) || '/'

function pathStart(url: string): number {
  const host = url.indexOf('://')
  const slash = url.indexOf('/', host === -1 ? 0 : host + 3)
  return slash === -1 ? url.length : slash
}
