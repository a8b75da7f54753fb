/** HTTP-01: answers the authority's question on port 80, and nothing else. */

const CHALLENGE_PATH = '/.well-known/acme-challenge/'
const IDLE_TIMEOUT_S = 10

export type ListenAddress = { readonly host: string; readonly port: number }

/** A listener that exists while an order waits for its challenges: at other times the port is free. */
export class ChallengeListener implements Disposable {
  readonly #answers = new Map<string, string>()
  readonly #server: Bun.Server<undefined>

  /** Throws, with advice, when the port cannot be had. */
  constructor(address: ListenAddress) {
    this.#server = listen(address, (path) => {
      if (!path.startsWith(CHALLENGE_PATH)) return null
      return this.#answers.get(path.slice(CHALLENGE_PATH.length)) ?? null
    })
  }

  answer(token: string, key_authorization: string): void {
    this.#answers.set(token, key_authorization)
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true)
  }
}

function listen(
  { host: hostname, port }: ListenAddress,
  findAnswer: (path: string) => string | null,
): Bun.Server<undefined> {
  try {
    return Bun.serve({
      hostname,
      port,
      development: false,
      idleTimeout: IDLE_TIMEOUT_S,
      maxRequestBodySize: 0,
      fetch(request) {
        const answer = findAnswer(new URL(request.url).pathname)
        const headers = { 'Content-Type': 'text/plain', 'X-Content-Type-Options': 'nosniff' }
        if (answer !== null) return new Response(answer, { headers })
        return new Response('This port answers ACME challenges only.\n', { status: 404, headers })
      },
    })
  } catch (cause) {
    throw new Error(`cannot listen on ${hostname}:${port} for the challenge: ${adviceFor(cause)}`, {
      cause,
    })
  }
}

function adviceFor(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'EADDRINUSE') return 'another program uses it'
  if (code === 'EACCES' || code === 'EPERM') {
    return 'this user may not (AmbientCapabilities=CAP_NET_BIND_SERVICE in systemd, or forward port 80 to TIDEMARK_ACME_HTTP_PORT)'
  }
  return String(error)
}
