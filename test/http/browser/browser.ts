/** A browser as the server sees one: it keeps the cookie, and its pages send the header of our own. */
import type { World } from '../world.ts'

export type BrowserAnswer = {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

export type Browser = ReturnType<typeof openBrowser>

/** Opens a browser without a cookie. */
export function openBrowser(world: Pick<World, 'send'>) {
  let cookie: string | null = null
  /** Sends like one of our pages; `headers` replace what it would send, null sends none. */
  const send = async (
    line: string,
    body?: unknown,
    headers: Readonly<Record<string, string | null>> = {},
  ): Promise<BrowserAnswer> => {
    const [method = '', path = ''] = line.split(' ')
    const all = { 'X-Tidemark': '1', Cookie: cookie, ...headers }
    const answer = await world.send(path, {
      method,
      headers: Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
      ),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    for (const text of answer.headers.getSetCookie()) {
      const [pair = ''] = text.split(';')
      cookie = /Max-Age=0\b/.test(text) ? null : pair
    }
    const text = await answer.text()
    return {
      status: answer.status,
      json: text === '' ? {} : JSON.parse(text),
      headers: answer.headers,
    }
  }
  return {
    send,
    /** The pair `name=value` of the stored cookie. */
    cookie: () => cookie,
    setCookie: (pair: string | null) => {
      cookie = pair
    },
  }
}
