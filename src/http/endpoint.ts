/** What is mounted on the router: a method, a path, and how it is answered. */

/** What stands in the place of `:name` in a path; null where it is no text, as `%ff`. */
export type PathParams = Readonly<Record<string, string | null>>

/** The part of Bun's server that endpoints use; null where requests come without a socket. */
export type ClientSocket = {
  requestIP(request: Request): { readonly address: string } | null
  /** Closes the request's connection when nothing goes over it for so long; 0 for never. */
  timeout(request: Request, seconds: number): void
} | null

/**
 * Connections over which nothing goes for so long are closed, and so are bodies that come drop by drop: Bun takes less
 * than some 16 KB a second for nothing. It closes a connection whose head is not whole after some 12 s, and answers
 * heads of more than 16 KB, or of too many fields, with 431.
 */
export const IDLE_TIMEOUT_S = 60

export type Endpoint = {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
  /** Served with and without a final slash. */
  readonly path: string
  readonly answer: (
    request: Request,
    params: PathParams,
    socket: ClientSocket,
  ) => Response | Promise<Response>
}
