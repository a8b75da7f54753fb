/** Takes request addresses apart as text: a hostile Host header makes `new URL` throw. */

/** The path, without the query string, in which clients put tokens and events. */
export function pathOf(url: string): string {
  const start = pathStart(url)
  const end = url.indexOf('?', start)
  return end === -1 ? url.slice(start) : url.slice(start, end)
}

/** The text after `?`, still encoded; '' without one. */
export function queryOf(url: string): string {
  const mark = url.indexOf('?')
  return mark === -1 ? '' : url.slice(mark + 1)
}

function pathStart(url: string): number {
  const host = url.indexOf('://')
  const slash = url.indexOf('/', host === -1 ? 0 : host + 3)
  return slash === -1 ? url.length : slash
}
