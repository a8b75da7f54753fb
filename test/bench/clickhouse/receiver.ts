/** A receiver in front of a ClickHouse server, which can answer for it: so that a load beside shipping is not one beside a database. */

/** The treatment of inserts of events: the server stores them, they are only answered, or nothing gets through to the server at all. */
export type ReceiverMode = 'stores' | 'only answers' | 'is away'

/** Listens in this process; everything but inserts of events is the server's to answer, unless it is away. */
export class Receiver implements Disposable {
  mode: ReceiverMode = 'stores'
  /** Inserts of events that were answered without the server. */
  answered = 0
  readonly url: string
  readonly #server: Bun.Server<undefined>

  constructor(clickhouse_url: string) {
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: (request) => this.#answer(request, clickhouse_url),
    })
    this.url = this.#server.url.origin
  }

  async #answer(request: Request, clickhouse_url: string): Promise<Response> {
    const { pathname, search, searchParams } = new URL(request.url)
    // Read to its end, so that the sender has the work of sending it.
    const body = await request.arrayBuffer()
    if (this.mode === 'is away') return new Response('away', { status: 503 })
    const is_insert = searchParams.get('query')?.startsWith('INSERT INTO events ') === true
    if (this.mode === 'only answers' && is_insert) {
      this.answered += 1
      return new Response('')
    }
    const { method, headers } = request
    return fetch(`${clickhouse_url}${pathname}${search}`, {
      method,
      headers,
      body,
      decompress: false,
    })
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true)
  }
}
