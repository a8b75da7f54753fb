/** What is mounted on the router: a method, a path, and how it is answered. */

/** What stands in the place of `:name` in a path; null where it is no text, as `%ff`. */
export type Params = Readonly<Record<string, string | null>>

/** The part of Bun's server that endpoints use; null where requests come without a socket. */
export type Socket = {
  requestIP(request: Request): { readonly address: string } | null
  /** Closes the request's connection when nothing goes over it for so long; 0 for never. */
  timeout(request: Request, seconds: number): void
} | null

/** Clients that send nothing for so long are cut off; slow ones that send something are not. */
export const IDLE_TIMEOUT_S = 60

export type Endpoint = {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
  /** Served with and without a final slash. */
  readonly path: string
  readonly answer: (
    request: Request,
    params: Params,
    socket: Socket,
  ) => Response | Promise<Response>
}
