/** The base path of the interface on its host; the router and the API's paths leave it out. */

/** '' for most; `/tidemark` below a path. The server writes it into the page. */
export const BASE_PATH = document.documentElement.dataset['base'] ?? ''

/** The server's address, as SDKs and links have it. */
export const SERVER_URL = location.origin + BASE_PATH

/** The path of an address of this page as the router knows it: every one begins with the base path. */
export const withoutBase = (path: string): string => path.slice(BASE_PATH.length) || '/'
