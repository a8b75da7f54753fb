/** An endpoint, as mounted on the router: a method, a path, and the function that answers. */

/** Values of `:name` in a path; null where it is not text, as `%ff`. */
export type PathParams = Readonly<Record<string, string | null>>

/** The part of Bun's server that endpoints use; null where a request came without a socket, as in tests. */
export type ClientSocket = {
  requestIP(request: Request): { readonly address: string } | null
  /** Closes the request's connection after a number of idle seconds; 0 for never. */
  timeout(request: Request, seconds: number): void
} | null

/**
 * Connections are closed after this number of idle seconds, and so are bodies that arrive drop by drop: Bun counts
 * less than some 16 KB a second as idle. It closes a connection whose head is incomplete after some 12 s, and
 * answers 431 to heads of more than 16 KB or of too many fields.
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
